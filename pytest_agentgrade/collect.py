"""Turns tasks, modes and checks into pytest items, and pytest's calls into verdicts."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from pytest_agentgrade import options
from pytest_agentgrade.assignment.secrets import hidden_settings, secrets_of_settings
from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.attempt.agents.base import Agent
from pytest_agentgrade.errors import AgentGradeError, SettingsError, TaskAuthorError, as_fault
from pytest_agentgrade.plan import AttemptKey, order_notes, plan_lines
from pytest_agentgrade.reporting.failures import OtherFailures
from pytest_agentgrade.reporting.progress import NewsOfWorkers, narrator
from pytest_agentgrade.run import Run
from pytest_agentgrade.run_folder import choose_folder
from pytest_agentgrade.run_setup import RunSetup, prepare
from pytest_agentgrade.wording import counted

_KEY = pytest.StashKey[AttemptKey]()
_OPEN = pytest.StashKey[Any]()
_DEFAULT_REPORT = "fE"
"""What pytest lists at its end unless ``-r`` says something else."""
_WORKER_INPUT = "agentgrade_run_dir"


class CheckModule(pytest.Module):
    """A module of hidden checks with the node id ``hidden_checks/<task>/test_<task>.py`` wherever it lies."""

    active: bool
    task: str

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        return super().collect() if self.active else []

    def funcnamefilter(self, name: str) -> bool:
        return name.startswith("test_")


def make_check_module(path: Path, parent: pytest.Collector, session: GradingSession | None) -> CheckModule | None:
    """The module for a check file, inactive (and empty) without ``--agent-mode``; None for any other file."""
    task = path.parent.name
    if session is not None:
        if path not in session.setup.check_files:
            return None
    elif not (path.parents[2] / "task_fixtures" / task / "task.toml").is_file():
        return None
    module: CheckModule = CheckModule.from_parent(parent, path=path, nodeid=f"hidden_checks/{task}/{path.name}")
    module.active, module.task = session is not None, task
    return module


class GradingSession:
    """All state of a grading pytest run; lives on ``config.stash``."""

    def __init__(self, setup: RunSetup, notes: Sequence[str] = (), report_file: Path | None = None) -> None:
        self.setup = setup
        self.notes = tuple(notes)
        self.report_file = report_file
        self.run: Run | None = None
        self._controller = True
        self._held = ExitStack()
        self.other_failures = OtherFailures()

    @classmethod
    def activate(cls, config: pytest.Config) -> GradingSession:
        """Validate everything that was asked for, before anything starts."""
        _refuse_weak_asserts(config)
        preset = options.chosen_preset(config)
        resolved = options.resolve_options(config)
        patches = options.patches_folder(config)
        agent = _make_agent(config, resolved.settings) if patches is None else None
        setup = prepare(resolved, Path(config.rootpath), options.mode_names(config), patches, agent)
        _refuse_split_servers(config, setup)
        _point_at_checks(config, setup)
        _calm_report(config)
        notes = preset.notes(resolved, agent.version if agent else "") if preset else ()
        return cls(setup, notes, options.report_file(config))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """What no report may show: the keys of the settings, and those of servers that come from elsewhere."""
        from pytest_agentgrade.attempt.server.api_key import known_keys

        setup = self.setup
        words = [(*setup.settings.server_args, *mode.server_args) for mode in setup.modes]
        found = {*secrets_of_settings(setup.settings.model_dump()), *known_keys(words)}
        return tuple(sorted(found, key=len, reverse=True))

    def header(self) -> list[str]:
        """Lines for the top of the report: what runs, and every setting that is no default with its source."""
        plan, defaults = self.setup.plan, Settings.model_validate({}).model_dump()
        shown = hidden_settings(self.setup.settings.model_dump())
        values = ((name, shown[name], source) for name, source in self.setup.sources.items())
        changed = [
            f"{name}={value!r} ({source})"
            for name, value, source in values
            if source != "default" and name != "modes" and value != defaults[name]
        ]
        lines = [f"agentgrade: {counted(len(plan.keys), 'attempt')} planned, {plan.order} order"]
        if self.run is not None and (made := self.run.store.submitted()):
            name = self.run.store.folder.name
            lines.append(f"agentgrade: going on with {name}; attempts made already: {made} of {len(plan.keys)}")
        notes = (*self.setup.notes, *self.notes, *order_notes(plan, self.setup.settings.server_restart))
        lines += [f"agentgrade: {note}" for note in notes]
        return lines + ([f"agentgrade: {', '.join(changed)}"] if changed else [])

    def plan_lines(self, items: Iterable[pytest.Item]) -> list[str]:
        """The attempts that these items need, numbered in their order."""
        return plan_lines(self.setup.plan, (item.stash[_KEY] for item in items if _KEY in item.stash))

    def parametrize(self, metafunc: pytest.Metafunc) -> None:
        """One item for each attempt of the check's task."""
        module = metafunc.definition.getparent(CheckModule)
        if module is not None and "candidate" in metafunc.fixturenames:
            keys = [key for key in self.setup.plan.keys if key.task == module.task]
            metafunc.parametrize("candidate", keys, ids=[key.label for key in keys], indirect=True)

    def sort_by_plan(self, items: list[pytest.Item]) -> None:
        """Checks in the order of the plan's attempts; a check's place within its attempt is kept."""
        position = {key: index for index, key in enumerate(self.setup.plan.keys)}
        for item in items:
            callspec = getattr(item, "callspec", None)
            if item.getparent(CheckModule) is not None and callspec is not None:
                item.stash[_KEY] = callspec.params["candidate"]
        items.sort(key=lambda item: position[item.stash[_KEY]] if _KEY in item.stash else len(position))

    def select(self, items: Iterable[pytest.Item]) -> None:
        """Remember which attempts have a check to run: all others never start."""
        self._selected = [item.stash[_KEY] for item in items if _KEY in item.stash]

    def begin(self, config: pytest.Config) -> None:
        """Create or find the run's folder; workers are told by the controller. What the host lacks is told before."""
        if options.only_looks(config):
            return
        worker = getattr(config, "workerinput", None)
        self._controller = worker is None
        self._narrate = narrator(config)
        if self._controller:
            from pytest_agentgrade.attempt.serving import check_running_servers
            from pytest_agentgrade.machine import check_host

            check_host(self.setup.settings, self.setup.agent, self._narrate)
            if self.setup.patches is None:
                check_running_servers(self.setup.settings, self.setup.modes)
        folder = self._choose_folder(config) if worker is None else Path(worker[_WORKER_INPUT])
        if getattr(config.option, "numprocesses", None):
            config.pluginmanager.register(NewsOfWorkers(self.setup.plan, self._narrate), "agentgrade-news-of-workers")
        self.run = Run.open(self.setup, folder, None if worker is None else worker["testrunuid"], self._narrate)

    def _choose_folder(self, config: pytest.Config) -> Path:
        with ExitStack() as held:
            folder = choose_folder(self.setup, Path(config.rootpath), held, again=_judges_again(config))
            self._held = held.pop_all()
        return folder

    def brief_worker(self, workerinput: dict[str, Any]) -> None:
        """Tell an xdist worker where the run lies."""
        if self.run is not None:
            workerinput[_WORKER_INPUT] = str(self.run.store.folder)

    def run_attempt_of(self, item: pytest.Item) -> None:
        """Run the item's attempt unless its submission is stored already; a fault waits for the fixture."""
        if self.run is not None and _KEY in item.stash:
            record = self.run.ensure(item.stash[_KEY], self._selected, self._narrate)
            if record is not None:
                item.config.hook.pytest_agentgrade_attempt_finished(record=record)

    @contextmanager
    def candidate(self, request: pytest.FixtureRequest) -> Generator[Any, None, None]:
        """The fixture's value; raises the attempt's fault, which makes the check an error."""
        item = request.node
        if self.run is None or _KEY not in item.stash:
            raise TaskAuthorError(
                f"{item.nodeid} is no hidden check", "only hidden checks have the fixture `candidate`"
            )
        key, check = item.stash[_KEY], request.function.__name__
        item.user_properties.extend(self.run.properties(key, check))
        with self.run.open_candidate(key, check) as opened:
            item.stash[_OPEN] = opened
            try:
                yield opened
                opened.dismiss()
            finally:
                del item.stash[_OPEN]  # pytest keeps all items to the end; this holds whatever the check has lent

    def finish_check(self, item: pytest.Function) -> None:
        """The check's body is over: the candidate must still be in turn."""
        if _OPEN in item.stash:
            item.stash[_OPEN].conclude()

    def judge(self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
        """Record the verdict of a call; a fault of host or task author turns a failure into an error."""
        if call.when != "call" or _OPEN not in item.stash or self.run is None:
            return
        error = None if call.excinfo is None else call.excinfo.value
        check = getattr(item, "originalname", item.name)
        try:
            fault: object = self.run.record_verdict(item.stash[_KEY], check, error, call.duration) and error
        except (AgentGradeError, MemoryError) as not_recorded:
            # Raised from here it would end the whole session; it is the trouble of this check.
            report.longrepr = fault = f"no verdict was recorded: {as_fault(not_recorded)}"
        if fault:
            report.outcome, report.when = "failed", "setup"
            report.longrepr = report.longrepr or str(fault)

    def finish(self, session: pytest.Session) -> None:
        """Stop what runs; with ``exit = measure`` scores do not decide the exit code."""
        if self.run is None:
            return
        self.run.close()
        if not self._controller:
            return
        self._held.close()
        try:
            records = list(self.run.store.records())
        except AgentGradeError:
            # The summary says which file it is; the run is no success.
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
            return
        session.config.hook.pytest_agentgrade_run_finished(run=self.run.store.run(), records=records)
        measured = self.setup.settings.exit == "measure" and all(record.complete for record in records)
        if measured and not self.other_failures.any and session.exitstatus == pytest.ExitCode.TESTS_FAILED:
            session.exitstatus = pytest.ExitCode.OK

    def summarise(self, reporter: pytest.TerminalReporter) -> None:
        """Write the summary section: what ``agentgrade report`` says of the run."""
        if self.run is None or not self._controller:
            return
        from pytest_agentgrade.records.finding import shown_path
        from pytest_agentgrade.reporting.output import write_report
        from pytest_agentgrade.reporting.page import page_width
        from pytest_agentgrade.reporting.several_runs import report_on

        reporter.section("agentgrade")
        try:
            report = report_on([self.run.store.folder])
            for line in report.lines(page_width()):
                reporter.write_line(line)
            if any(not self.run.is_finished(key) for key in self.setup.plan.keys):
                reporter.write_line(
                    f"not finished; to go on: pytest --agent-run-dir={shown_path(self.run.store.folder)}"
                )
            if self.report_file is not None:
                write_report(report, self.report_file)
                reporter.write_line(f"report: {self.report_file}")
        except AgentGradeError as error:
            reporter.write_line(f"the report is not complete: {error}", red=True)


def make_scheduler(config: pytest.Config, log: Any) -> Any:
    """An xdist scheduler that keeps the checks of an attempt on one worker, attempts in plan order."""
    from xdist.scheduler import LoadScopeScheduling

    class AttemptScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
        def _split_scope(self, nodeid: str) -> str:
            module, bracket, label = nodeid.partition("[")
            return f"{module.rsplit('::', 1)[0]}{bracket}{label}"

    config.option.loadscopereorder = False
    return AttemptScheduling(config, log)


def _make_agent(config: pytest.Config, settings: Settings) -> Agent:
    from pytest_agentgrade.attempt.agents.registry import unknown_agent

    agent: Agent | None = config.hook.pytest_agentgrade_make_agent(name=settings.agent, settings=settings)
    if agent is None:
        raise unknown_agent(settings.agent)
    return agent


def _refuse_weak_asserts(config: pytest.Config) -> None:
    if sys.flags.optimize:
        raise SettingsError("Python runs with -O (PYTHONOPTIMIZE): asserts do nothing", "unset PYTHONOPTIMIZE")
    if config.getoption("assertmode", "plain") == "plain":
        raise SettingsError("--assert=plain hides what a check compared", "leave it (or -p no:assertion) out")
    if getattr(config.option, "reruns", None):
        raise SettingsError("--reruns gives a second draw, which is a second chance", "use --agent-repeat")


def _refuse_split_servers(config: pytest.Config, setup: RunSetup) -> None:
    """A server that is kept belongs to one process; the attempts of another would wait for its device for ever."""
    if setup.settings.server_restart == "mode" and getattr(config.option, "numprocesses", None):
        raise SettingsError("server_restart=mode keeps a server in one process, -n makes several", "leave out one")


def _point_at_checks(config: pytest.Config, setup: RunSetup) -> None:
    """Without paths on the command line: the checks and nothing else. Else: bundled checks by their node ids."""
    by_id = {f"hidden_checks/{path.parent.name}/{path.name}": path for path in setup.check_files}
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args[:] = [str(path) for path in by_id.values()]
        return
    for index, argument in enumerate(config.args):
        path, colons, name = argument.partition("::")
        if path in by_id and not (Path(config.invocation_params.dir) / path).exists():
            config.args[index] = f"{by_id[path]}{colons}{name}"


def _calm_report(config: pytest.Config) -> None:
    """Failed checks are what is measured, and the summary's matrix shows them: nothing else does, unless asked for."""
    if getattr(config.option, "tbstyle", None) == "auto":
        config.option.tbstyle = "no"
    if getattr(config.option, "reportchars", None) == _DEFAULT_REPORT:
        config.option.reportchars = ""


def _judges_again(config: pytest.Config) -> bool:
    """Whether stored submissions are to be judged again: ``--lf``, ``--ff``, ``--sw`` or node ids."""
    again = any(getattr(config.option, name, False) for name in ("lf", "failedfirst", "stepwise"))
    return again or any("::" in argument for argument in config.args)
