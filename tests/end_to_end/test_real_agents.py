"""The real agents from the registries, in their images, against the scripted model: solutions, limits, trouble.

The images are made here when they are not there: this needs npm or pip to reach its registry. ``-m "not heavy_agents"``
leaves all but OpenCode out.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.attempt.agents.installing import build_agent_image
from pytest_agentgrade.attempt.agents.packages import find_package
from pytest_agentgrade.attempt.agents.registry import make_agent
from pytest_agentgrade.records.model import AttemptRecord
from pytest_agentgrade.sandbox.engine import connect
from tests.agent_tongues import TONGUES, first_text
from tests.graded import QUIET_PLUGINS, Graded, run_pytest, scripted_mode, write_settings
from tests.host_processes import ContainerWatch
from tests.scripted_server import Script, ScriptedServer

TASK = "sqlite_transfers"
TURNS = 8
AGENTS = [
    pytest.param(name, marks=() if name == "opencode" else pytest.mark.heavy_agents, id=name)
    for name in sorted(TONGUES)
]
"""OpenCode always; the others, whose images are large and slow to make, with a mark to leave them out."""
AT_ONCE = ("solve", "budget", "overflow", "compact", "repeat")
"""They end by themselves."""
BY_CLOCK = ("slow", "hang", "error_500", "cut")
"""The clock ends them, at the latest."""
CLOCK = {AT_ONCE: 240.0, BY_CLOCK: 50.0}
ENDINGS = {
    "budget": "response_budget_in_reasoning", "overflow": "prompt_overflow", "compact": "prompt_overflow",
    "repeat": "turn_limit", "slow": "task_clock", "hang": "task_clock", "error_500": "server_error",
    "cut": "stream_broken",
}  # fmt: skip
"""Script -> what the attempt is to be recorded as."""
WITHOUT_TOOLS = {"solve", "budget", "overflow", "slow", "hang", "error_500", "cut"}
AUXILIARY = {"aider": {"solve", "slow"}, "qwen-code": {"compact"}}
"""Agent -> scripts on which it asks for something beside the task; nobody else does, on no script."""
PROGRAMS = {
    "opencode": "/bin/opencode run", "qwen-code": "qwen-code/cli.js", "mini-swe-agent": "mini_start.py",
    "aider": "aider_start.py",
}  # fmt: skip
"""Agent -> what its process is called."""
CONTEXT = {"aider": 16_384}
"""What it is told of the model, where that is not the default: with so little, aider sums its chat up at the end."""


@dataclass(frozen=True)
class Trial:
    """An agent's attempts on all scripts, and what the model was asked in them."""

    agent: str
    graded: dict[str, Graded]
    asked: dict[str, list[dict[str, Any]]]
    watch: ContainerWatch

    def record(self, script: str) -> AttemptRecord:
        return self.graded[script].records[f"{TASK}[{script}-4242]"]

    def endings(self, script: str) -> set[str]:
        submission = self.record(script).submission
        assert submission is not None, self.graded[script].output
        return {ending.ending for ending in submission.endings}


@pytest.fixture(scope="module", params=AGENTS)
def trial(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trial:
    agent = request.param
    make_image(agent)
    context = f"context = {CONTEXT[agent]}\n" if agent in CONTEXT else ""
    found, asked = {}, {}
    with ContainerWatch() as watch:
        for group, seconds in CLOCK.items():
            scripts = {name: script for name, script in TONGUES[agent].scripts().items() if name in group}
            folder = tmp_path_factory.mktemp(agent)
            run, requests = graded(folder, agent, scripts, f"{context}task_seconds = {seconds}\n")
            found |= dict.fromkeys(scripts, run)
            asked |= requests
    return Trial(agent, found, asked, watch)


def make_image(agent: str) -> None:
    client = connect()
    build_agent_image(client, find_package(agent))
    client.close()


def graded(
    folder: Path, agent: str, scripts: Mapping[str, Script], settings: str
) -> tuple[Graded, dict[str, list[dict[str, Any]]]]:
    """A run with a mode for each script, and what the model was asked in each."""
    with ExitStack() as stack:
        servers = {name: stack.enter_context(ScriptedServer(script)) for name, script in scripts.items()}
        modes = "".join(scripted_mode(server.url, name) for name, server in servers.items())
        limits = f"response_tokens = 2000\nturns = {TURNS}\nseeds = [4242]\n"
        write_settings(folder, f'agent = "{agent}"\n{limits}{settings}{modes}')
        run = run_pytest(
            folder, f"--agent-mode={','.join(scripts)}", f"--agent-task={TASK}", "--agent-exit=measure",
            *QUIET_PLUGINS, "--tb=no", seconds=1_500,
        )  # fmt: skip
        return run, {name: server.requests for name, server in servers.items()}


def test_it_solves_the_task(trial: Trial) -> None:
    record = trial.record("solve")
    assert record.complete and record.passed == 10, trial.graded["solve"].output
    assert trial.endings("solve") == {"finished"}


def test_every_request_has_what_the_experiment_says(trial: Trial) -> None:
    requests = [request for requests in trial.asked.values() for request in requests]
    assert len(requests) > 10
    for request in requests:
        forced = ("seed", "temperature", "top_p", "top_k", "min_p", "cache_prompt", "n")
        assert [request[key] for key in forced] == [4242, 1.0, 0.95, 20, 0.0, False, 1]
        cap = request["max_tokens"]
        assert isinstance(cap, int) and 0 < cap <= 2_000


def test_its_version_image_and_own_files_are_recorded(trial: Trial) -> None:
    record, package = trial.record("solve"), find_package(trial.agent)
    assert record.agent is not None
    assert record.agent.agent == trial.agent and record.agent.agent_version.startswith(package.version)
    client = connect()
    assert record.agent.image_id == client.images.get(package.tag).id
    client.close()
    assert f"{package.package}=={package.version}" in record.agent.agent_packages
    if package.lock is not None:
        assert set(record.agent.agent_packages) == set(package.lock.read_text().splitlines()[1:])
    folder = trial.graded["solve"].run.folder / "attempts" / TASK / "solve-4242"
    assert (folder / "agent-files.tar.gz").stat().st_size > 100


def test_every_script_was_followed(trial: Trial) -> None:
    expected = {*AT_ONCE, *BY_CLOCK} if trial.agent != "aider" else WITHOUT_TOOLS
    assert set(trial.asked) == expected and all(trial.asked.values())


def test_trouble_ends_as_what_it_was(trial: Trial) -> None:
    found = {script: trial.endings(script) for script in trial.asked if script in ENDINGS}
    assert {script: kinds for script, kinds in found.items() if ENDINGS[script] not in kinds} == {}
    assert {script: kinds for script, kinds in found.items() if kinds & {"finished", "agent_crashed"}} == {}


def test_a_good_tree_counts_although_the_clock_ran_out(trial: Trial) -> None:
    assert trial.record("slow").passed == 10, trial.graded["slow"].output


def test_repeated_calls_are_told_and_no_agent_goes_beyond_its_turns(trial: Trial) -> None:
    made = [record.agent.requests for script in trial.asked if (record := trial.record(script)).agent is not None]
    assert len(made) == len(trial.asked) and max(made) <= TURNS
    if "repeat" in trial.asked:
        assert "tool_call_loop" in trial.endings("repeat") and len(trial.asked["repeat"]) == TURNS


def test_no_attempt_lasts_longer_than_its_clock(trial: Trial) -> None:
    for script in trial.asked:
        agent = trial.record(script).agent
        assert agent is not None
        assert agent.clock_seconds < CLOCK[AT_ONCE if script in AT_ONCE else BY_CLOCK] + 5.0


def test_requests_beside_the_task_are_told_apart(trial: Trial) -> None:
    """Every kind of request that an agent makes has a first message of its own: but one kind counts as the task's."""
    agent = make_agent(trial.agent, Settings.model_validate({}))
    assert agent is not None
    for script, requests in trial.asked.items():
        beside = [request for request in requests if agent.is_auxiliary(request)]
        assert len({first_text(request) for request in requests if request not in beside}) == 1, script
        record = trial.record(script)
        assert record.agent is not None and record.agent.auxiliary_requests == len(beside)
        assert record.agent.requests == len(requests) - len(beside)
        assert bool(beside) == (script in AUXILIARY.get(trial.agent, ())), script


def test_nothing_is_left_on_the_engine_or_the_host(trial: Trial) -> None:
    client = connect()
    for run in {run.run.folder: run for run in trial.graded.values()}.values():
        run_id = run.run.run().run_id
        label = {"label": f"agentgrade.run={run_id}"}
        assert client.containers.list(all=True, ignore_removed=True, filters=label) == []
        assert client.volumes.list(filters=label) == []
        seen = trial.watch.processes(run_id)
        assert any(PROGRAMS[trial.agent] in process.command for process in seen), seen
        assert [process for process in seen if process.alive] == []
        assert trial.watch.control_groups(run_id) == []
    client.close()


@pytest.mark.parametrize("agent", [agent for agent in AGENTS if agent.id != "aider"])
def test_a_model_without_tools_is_refused_before_the_agent_starts(agent: str, tmp_path: Path) -> None:
    make_image(agent)
    with ScriptedServer(TONGUES[agent].solve(), supports_tools=False) as server:
        write_settings(tmp_path, f'agent = "{agent}"\nseeds = [4242]\n{scripted_mode(server.url, "m")}')
        run = run_pytest(tmp_path, "--agent-mode=m", f"--agent-task={TASK}", *QUIET_PLUGINS, "--tb=no")
    (record,) = run.records.values()
    assert record.agent is None and record.fault is not None and server.requests == [], run.output
    assert record.fault.message.endswith(f"has no tools, agent {agent} needs them")


def test_another_version_of_opencode_is_run_and_recorded(tmp_path: Path) -> None:
    package = find_package("opencode", "1.18.32")
    client = connect()
    tag = build_agent_image(client, package).tag
    try:
        settings = 'task_seconds = 120\nagent_version = "1.18.32"\n'
        run, _ = graded(tmp_path, "opencode", {"solve": TONGUES["opencode"].solve()}, settings)
        (record,) = run.records.values()
        assert record.delivers and record.agent is not None, run.output
        assert record.agent.agent_version.startswith("1.18.32+")
        assert f"{package.package}==1.18.32" in record.agent.agent_packages
    finally:
        client.images.remove(tag, force=True)
        client.close()


CHATTY = """
import json
from dataclasses import dataclass
from pytest_agentgrade.attempt.agents.opencode import OpenCode
from pytest_agentgrade.attempt.agents.packages import find_package


@dataclass(frozen=True)
class Chatty(OpenCode):
    def command(self):
        return tuple(word.replace(" --title task", "") for word in super().command())

    def files(self):
        ((name, data),) = super().files().items()
        config = json.loads(data)
        del config["agent"]
        config["compaction"]["auto"] = True
        return {name: json.dumps(config).encode()}


def pytest_agentgrade_make_agent(name, settings):
    return Chatty(find_package("opencode"), settings.context, max(settings.response_tokens))
"""
"""OpenCode as its makers ship it: it asks for a title, and compacts its conversation when that is too long."""


def test_opencodes_titles_and_endless_compaction(tmp_path: Path) -> None:
    make_image("opencode")
    tongue = TONGUES["opencode"]
    (tmp_path / "conftest.py").write_text(CHATTY)
    scripts = {"titled": tongue.then(tongue.done), "compact": tongue.compact()}
    run, asked = graded(tmp_path, "opencode", scripts, "task_seconds = 120\n")
    titled, compact = (run.records[f"{TASK}[{name}-4242]"] for name in scripts)
    assert titled.agent is not None and compact.agent is not None and compact.submission is not None, run.output
    assert (titled.agent.requests, titled.agent.auxiliary_requests) == (2, 1)
    assert len({first_text(body) for body in asked["titled"]}) == 2
    kinds = {ending.ending for ending in compact.submission.endings}
    assert {"prompt_overflow", "turn_limit"} <= kinds and "finished" not in kinds
    assert compact.agent.requests <= TURNS and 2 <= compact.agent.auxiliary_requests <= TURNS
    assert compact.agent.ended == "exited" and compact.agent.clock_seconds < 120


def test_opencode_talks_to_the_embedded_demo_model(tmp_path: Path) -> None:
    """The model was not made for its prompts: it starts, is answered, and ends; whatever it scores is honest."""
    make_image("opencode")
    run = run_pytest(
        tmp_path, "--agent-mode=baseline", "--agent-name=opencode", f"--agent-task={TASK}", "--agent-seed=4242",
        "--agent-task-seconds=240", "--agent-exit=measure", *QUIET_PLUGINS, "--tb=no", seconds=600,
    )  # fmt: skip
    (record,) = run.records.values()
    assert record.complete and record.agent is not None and record.submission is not None, run.output
    assert record.agent.ended == "exited" and record.agent.requests >= 1 and record.agent.completion_tokens > 0
    assert "agent_crashed" not in {ending.ending for ending in record.submission.endings}
