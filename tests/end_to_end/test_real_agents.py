"""The real agents from the registries, in their images, against the scripted model: solutions, limits, trouble.

The images are made here when they are not there: this needs npm or pip to reach its registry. ``-m "not heavy_agents"``
leaves all but OpenCode out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_agentgrade.attempt.agents.installing import build_agent_image
from pytest_agentgrade.attempt.agents.packages import find_package
from pytest_agentgrade.records.model import AttemptRecord
from pytest_agentgrade.sandbox.engine import connect
from tests.agent_tongues import TONGUES
from tests.graded import QUIET_PLUGINS, Graded, run_pytest, scripted_mode, write_settings
from tests.scripted_server import ScriptedServer

TASK = "sqlite_transfers"
TURNS = 8
AGENTS = [
    pytest.param(name, marks=() if name == "opencode" else pytest.mark.heavy_agents, id=name)
    for name in sorted(TONGUES)
]
"""OpenCode always; the others, whose images are large and slow to make, with a mark to leave them out."""
AT_ONCE = ("solve", "budget", "overflow", "repeat")
"""They end by themselves."""
BY_CLOCK = ("slow", "hang", "error_500")
"""The clock ends them, at the latest."""
CLOCK = {AT_ONCE: 240.0, BY_CLOCK: 60.0}
ENDINGS = {
    "budget": "response_budget_in_reasoning", "overflow": "prompt_overflow", "repeat": "turn_limit",
    "slow": "task_clock", "hang": "task_clock", "error_500": "server_error",
}  # fmt: skip
"""Script -> what the attempt is to be recorded as."""
WITHOUT_TOOLS = {"solve", "budget", "overflow", "hang", "error_500"}


@dataclass(frozen=True)
class Trial:
    """An agent's attempts on all scripts, and what the model was asked in them."""

    agent: str
    graded: dict[str, Graded]
    asked: dict[str, list[dict[str, object]]]

    def record(self, script: str) -> AttemptRecord:
        return self.graded[script].records[f"{TASK}[{script}-4242]"]

    def endings(self, script: str) -> set[str]:
        submission = self.record(script).submission
        assert submission is not None, self.graded[script].output
        return {ending.ending for ending in submission.endings}


@pytest.fixture(scope="module", params=AGENTS)
def trial(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    agent = request.param
    client = connect()
    build_agent_image(client, find_package(agent))
    client.close()
    graded, asked, scripts = {}, {}, TONGUES[agent].scripts()
    for group, seconds in CLOCK.items():
        names = [name for name in group if name in scripts]
        with ExitStack() as stack:
            servers = {name: stack.enter_context(ScriptedServer(scripts[name])) for name in names}
            settings = f"task_seconds = {seconds}\nresponse_tokens = 2000\nturns = {TURNS}\nseeds = [4242]\n"
            folder = tmp_path_factory.mktemp(agent)
            modes = "".join(scripted_mode(server.url, name) for name, server in servers.items())
            write_settings(folder, f'agent = "{agent}"\n{settings}{modes}')
            run = run_pytest(
                folder, f"--agent-mode={','.join(names)}", f"--agent-task={TASK}", "--agent-exit=measure",
                *QUIET_PLUGINS, "--tb=no", seconds=1_500,
            )  # fmt: skip
            graded |= dict.fromkeys(names, run)
            asked |= {name: server.requests for name, server in servers.items()}
    yield Trial(agent, graded, asked)


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
    """Where the agent goes on after its edits; the others are told from the clock by a model that hangs."""
    script, passed = ("slow", 10) if "slow" in trial.asked else ("hang", 1)
    assert trial.record(script).passed == passed, trial.graded[script].output


def test_repeated_calls_are_told_and_no_agent_goes_beyond_its_turns(trial: Trial) -> None:
    assert max(map(len, trial.asked.values())) <= TURNS
    if "repeat" in trial.asked:
        assert "tool_call_loop" in trial.endings("repeat") and len(trial.asked["repeat"]) == TURNS


def test_no_attempt_lasts_longer_than_its_clock(trial: Trial) -> None:
    for script in trial.asked:
        agent = trial.record(script).agent
        assert agent is not None
        assert agent.clock_seconds < CLOCK[AT_ONCE if script in AT_ONCE else BY_CLOCK] + 5.0


def test_no_container_or_volume_is_left(trial: Trial) -> None:
    client = connect()
    for run in {run.run.folder: run for run in trial.graded.values()}.values():
        label = {"label": f"agentgrade.run={run.run.run().run_id}"}
        assert client.containers.list(all=True, filters=label) == []
        assert client.volumes.list(filters=label) == []
    client.close()


def test_opencode_talks_to_the_embedded_demo_model(tmp_path: Path) -> None:
    """The model was not made for its prompts: it starts, is answered, and ends; whatever it scores is honest."""
    client = connect()
    build_agent_image(client, find_package("opencode"))
    client.close()
    run = run_pytest(
        tmp_path, "--agent-mode=baseline", "--agent-name=opencode", f"--agent-task={TASK}", "--agent-seed=4242",
        "--agent-task-seconds=240", "--agent-exit=measure", *QUIET_PLUGINS, "--tb=no", seconds=600,
    )  # fmt: skip
    (record,) = run.records.values()
    assert record.complete and record.agent is not None and record.submission is not None, run.output
    assert record.agent.ended == "exited" and record.agent.requests >= 1 and record.agent.completion_tokens > 0
    assert "agent_crashed" not in {ending.ending for ending in record.submission.endings}
