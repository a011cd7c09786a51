"""Agents that would go on for ever - a stand-in that does what real ones were seen to do - are ended, and told so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from pytest_agentgrade.records.model import AttemptRecord
from pytest_agentgrade.sandbox.engine import connect
from tests.agent_tongues import SUMMARY, TOO_LONG
from tests.graded import QUIET_PLUGINS, Graded, run_pytest, scripted_mode, write_settings
from tests.host_processes import ContainerWatch
from tests.scripted_server import LOOP, OVERFLOW, Conversation, Say, Script, ScriptedServer, use

TASK = "sqlite_transfers"
TURNS = 5
SECONDS = 6.0
STAND_IN = """
import http.client, json, pathlib, subprocess, sys, time
from dataclasses import dataclass

DEAF = "deaf" in sys.argv
subprocess.Popen(["sleep", "1000"], start_new_session=True)
messages = [{"role": "user", "content": pathlib.Path("/exchange/prompt.md").read_text()}]


def ask(messages):
    connection = http.client.HTTPConnection("127.0.0.1", 8080)
    body = json.dumps({"messages": messages, "stream": True})
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    reply = connection.getresponse()
    text = reply.read().decode()
    return (reply.status if "[DONE]" in text or reply.status != 200 else 0), text


while True:
    try:
        status, text = ask(messages)
    except (OSError, http.client.HTTPException):
        continue  # the stream was cut: ask again
    if status == 400:
        ask([{"role": "system", "content": "SUMMARIZE"}, *messages])
        messages = [*messages[:1], {"role": "assistant", "content": "a summary"}]
    elif status == 404 and not DEAF:
        sys.exit(1)
    elif status == 404:
        time.sleep(0.2)
    else:
        messages.append({"role": "assistant", "content": text[:100]})
"""
CONFTEST = f"""
from dataclasses import dataclass

from pytest_agentgrade.attempt.agents.base import AgentBase

PROGRAM = {STAND_IN!r}


@dataclass(frozen=True)
class StandIn(AgentBase):
    name: str
    version: str = "1"
    needs_tools: bool = False

    def command(self):
        return ("python3", "/exchange/stand_in.py", self.name)

    def files(self):
        return {{"stand_in.py": PROGRAM.encode()}}

    def is_auxiliary(self, request):
        return request["messages"][0]["content"] == "SUMMARIZE"


def pytest_agentgrade_make_agent(name, settings):
    return StandIn(name) if name in ("hearing", "deaf") else None
"""


def compacting(error: dict[str, object]) -> Script:
    def script(conversation: Conversation) -> Say:
        summary = conversation.body["messages"][0]["content"] == "SUMMARIZE"
        return Say(content=SUMMARY) if summary else Say(status=400, error=error)

    return script


SCRIPTS: dict[str, Script] = {
    "compact": compacting(OVERFLOW),
    "compact_vllm": compacting(TOO_LONG),
    "cut": lambda _: Say(content=LOOP, drop_after=5),
    "repeat": lambda _: use("bash", command="ls"),
}
TOLD = {
    "compact": {"prompt_overflow"}, "compact_vllm": {"prompt_overflow"}, "cut": {"stream_broken"},
    "repeat": {"tool_call_loop"},
}  # fmt: skip


class Endless:
    """A run of one of the stand-ins on all scripts."""

    def __init__(self, agent: str, graded: Graded, asked: dict[str, int], watch: ContainerWatch) -> None:
        self.agent, self.graded, self.asked, self.watch = agent, graded, asked, watch
        self.records: dict[str, AttemptRecord] = {
            script: graded.records[f"{TASK}[{script}-4242]"] for script in SCRIPTS
        }

    def endings(self, script: str) -> set[str]:
        submission = self.records[script].submission
        assert submission is not None, self.graded.output
        return {ending.ending for ending in submission.endings}


@pytest.fixture(scope="module", params=["hearing", "deaf"])
def endless(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endless]:
    agent, folder = request.param, tmp_path_factory.mktemp("endless")
    (folder / "conftest.py").write_text(CONFTEST)
    with ExitStack() as stack:
        servers = {name: stack.enter_context(ScriptedServer(script)) for name, script in SCRIPTS.items()}
        modes = "".join(scripted_mode(server.url, name) for name, server in servers.items())
        limits = f"task_seconds = {SECONDS}\nturns = {TURNS}\nseeds = [4242]\n"
        write_settings(folder, f'agent = "{agent}"\n{limits}{modes}')
        watch = stack.enter_context(ContainerWatch())
        run = run_pytest(
            folder, f"--agent-mode={','.join(SCRIPTS)}", f"--agent-task={TASK}", "--agent-exit=measure",
            *QUIET_PLUGINS, "--tb=no",
        )  # fmt: skip
        yield Endless(agent, run, {name: len(server.requests) for name, server in servers.items()}, watch)


def test_turns_end_it_and_the_clock_ends_who_does_not_listen(endless: Endless) -> None:
    for script, record in endless.records.items():
        assert record.agent is not None, endless.graded.output
        assert record.agent.ended == ("exited" if endless.agent == "hearing" else "clock"), script
        assert record.agent.clock_seconds < SECONDS + 5.0
        assert record.agent.requests == TURNS and record.agent.auxiliary_requests <= TURNS
        assert endless.asked[script] == TURNS + record.agent.auxiliary_requests, "no more reached the model"


def test_only_summaries_are_auxiliary(endless: Endless) -> None:
    auxiliary = {script: record.agent.auxiliary_requests for script, record in endless.records.items() if record.agent}
    assert auxiliary == {"compact": TURNS, "compact_vllm": TURNS, "cut": 0, "repeat": 0}


def test_it_is_told_how_it_ended(endless: Endless) -> None:
    limits = {"turn_limit"} | ({"task_clock"} if endless.agent == "deaf" else set())
    found = {script: endless.endings(script) for script in SCRIPTS}
    assert {script: kinds - {"no_production_edit"} for script, kinds in found.items()} == {
        script: kinds | limits for script, kinds in TOLD.items()
    }


def test_what_it_started_in_a_session_of_its_own_is_gone(endless: Endless) -> None:
    run_id = endless.graded.run.run().run_id
    client = connect()
    assert client.containers.list(all=True, ignore_removed=True, filters={"label": f"agentgrade.run={run_id}"}) == []
    client.close()
    seen = endless.watch.processes(run_id)
    assert any(process.command == "sleep 1000" for process in seen), seen
    assert [process for process in seen if process.alive] == []
    assert endless.watch.control_groups(run_id) == []
