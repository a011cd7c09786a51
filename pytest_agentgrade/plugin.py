"""The pytest side: hooks of a few lines that delegate; everything heavy is imported only when grading."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_agentgrade import hookspecs, options
from pytest_agentgrade.errors import AgentGradeError

if TYPE_CHECKING:
    from pytest_agentgrade.assignment.settings import Settings
    from pytest_agentgrade.attempt.agents.base import Agent
    from pytest_agentgrade.collect import GradingSession

_SESSION: pytest.StashKey[GradingSession] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    if not options.asks_for_grading(early_config.known_args_namespace):
        return
    from pytest_agentgrade.whereabouts import refuse_inside

    try:
        refuse_inside(Path(early_config.invocation_params.dir), Path(early_config.rootpath))
    except AgentGradeError as error:
        raise pytest.UsageError(str(error)) from error


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """The tests of a workspace are the agent's: never collected unless they are named."""
    if collection_path.name != "workspace":
        return None
    from pytest_agentgrade.whereabouts import is_workspace

    return is_workspace(collection_path) or None


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    if config.option.help or config.option.version or not options.is_active(config):
        return
    from pytest_agentgrade.collect import GradingSession

    try:
        config.stash[_SESSION] = session = GradingSession.activate(config)
    except AgentGradeError as error:
        raise pytest.UsageError(str(error)) from error
    config.pluginmanager.register(session.other_failures, "agentgrade-other-failures")


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    if module_path.parent.parent.name != "hidden_checks" and _SESSION not in parent.config.stash:
        return None
    from pytest_agentgrade.collect import make_check_module

    return make_check_module(module_path, parent, parent.config.stash.get(_SESSION, None))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if session := metafunc.config.stash.get(_SESSION, None):
        session.parametrize(metafunc)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if session := config.stash.get(_SESSION, None):
        session.sort_by_plan(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    if grading := session.config.stash.get(_SESSION, None):
        grading.select(session.items)


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    session = config.stash.get(_SESSION, None)
    return session.plan_lines(items) if session and config.option.collectonly else []


def pytest_report_header(config: pytest.Config) -> list[str]:
    session = config.stash.get(_SESSION, None)
    return session.header() if session else options.idle_hint(config)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    if grading := session.config.stash.get(_SESSION, None):
        try:
            grading.begin(session.config)
        except AgentGradeError as error:
            raise pytest.UsageError(str(error)) from error


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    if session := item.config.stash.get(_SESSION, None):
        session.run_attempt_of(item)
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_agentgrade_make_agent(name: str, settings: Settings) -> Agent | None:
    from pytest_agentgrade.attempt.agents.registry import make_agent

    return make_agent(name, settings)


@pytest.fixture
def candidate(request: pytest.FixtureRequest) -> Generator[Any, None, None]:
    """The submission under judgement, in its own fresh container: see docs/writing-checks.md."""
    session = request.config.stash.get(_SESSION, None)
    if session is None:
        raise pytest.UsageError("the fixture `candidate` exists only with --agent-mode or --agent-patches")
    with session.candidate(request) as opened:
        yield opened


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    result = yield
    if session := pyfuncitem.config.stash.get(_SESSION, None):
        session.finish_check(pyfuncitem)
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_assertrepr_compare(
    config: pytest.Config, op: str, left: object, right: object
) -> Generator[None, list[list[str]], list[list[str]]]:
    __tracebackhide__ = True
    if _SESSION in config.stash:
        from pytest_agentgrade.grading.large_comparison import refuse_large

        refuse_large(op, left, right)
    explained = yield
    if _SESSION in config.stash:
        from pytest_agentgrade.reporting.harmless import without_colours

        return [[without_colours(line) for line in lines] for lines in explained]
    return explained


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if session := item.config.stash.get(_SESSION, None):
        from pytest_agentgrade.reporting.harmless import escape_report

        session.judge(item, call, report)
        escape_report(report, session.keys)
    return report


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if grading := session.config.stash.get(_SESSION, None):
        grading.finish(session)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if session := terminalreporter.config.stash.get(_SESSION, None):
        session.summarise(terminalreporter)
    elif terminalreporter.verbosity < 0:  # -q shows no header
        for line in options.idle_hint(terminalreporter.config):
            terminalreporter.write_line(line)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    if session := node.config.stash.get(_SESSION, None):
        session.brief_worker(node.workerinput)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if _SESSION not in config.stash:
        return None
    from pytest_agentgrade.collect import make_scheduler

    return make_scheduler(config, log)
