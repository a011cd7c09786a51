"""How attempts end: whole runs of the built-in agent behind proxy and forwarder, and single exchanges."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_agentgrade.attempt.agents import forwarder_program, toolloop_program
from pytest_agentgrade.attempt.agents.base import AgentEnd, AgentEvent, AgentRun
from pytest_agentgrade.attempt.agents.toolloop import ToolLoop
from pytest_agentgrade.attempt.ending_kinds import as_markdown
from pytest_agentgrade.attempt.endings import AttemptLimits, Ending, Endings, classify_endings
from pytest_agentgrade.attempt.exchange import Cut, Exchange, ToolCall
from pytest_agentgrade.attempt.proxy import RecordingProxy
from tests.attempt.test_proxy import policy
from tests.scripted_server import LOOP, SCRIPTS, Call, Say, Script, ScriptedServer, in_turn, slow, solve, use

LIMITS = AttemptLimits(response_tokens=500, context=32_768, task_seconds=30.0, max_turns=6)
SOLVED = {"cache/core.py": "x = 1\n"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def attempt(script: Script, folder: Path, limits: AttemptLimits = LIMITS, **changes: Any) -> Endings:
    """An attempt without a container: forwarder, agent, proxy and server are as real as ever."""
    work, port = folder / "work", free_port()
    work.mkdir()
    (folder / "task.md").write_text("Do it.")
    agent = [sys.executable, "-I", "-B", toolloop_program.__file__, str(folder / "task.md"), "--workspace", str(work)]
    command = [sys.executable, "-I", "-B", forwarder_program.__file__, str(folder / "s"), str(port), *agent]
    the_policy = policy(response_tokens=limits.response_tokens, max_turns=limits.max_turns, **changes)
    with (
        ScriptedServer(script, context=limits.context or 32_768) as server,
        RecordingProxy(server.url, folder / "s", the_policy, folder / "log") as proxy,
    ):
        started = time.monotonic()
        proxy.start_clock(started, limits.task_seconds)
        done = subprocess.run([*command, "--url", f"http://127.0.0.1:{port}/v1"], capture_output=True, check=True)
        seconds = time.monotonic() - started
    assert done.stdout.startswith(forwarder_program.STARTS)
    events = tuple(AgentEvent(0.0, json.loads(line)) for line in done.stdout.splitlines()[1:])
    ended = AgentEnd.EXITED if seconds < limits.task_seconds else AgentEnd.CLOCK
    run = a_run(ended=ended, seconds=seconds, finished=ToolLoop().finished(events), events=events)
    changed = [path.relative_to(work).as_posix() for path in work.rglob("*.py")]
    production = [path for path in changed if not path.startswith("tests/")]
    return classify_endings(proxy.exchanges, run, production, set(changed) - set(production), limits)


def a_run(**changes: Any) -> AgentRun:
    run = AgentRun(
        "toolloop", "1", AgentEnd.EXITED, 0, False, started=0.0, started_at=0.0, seconds=20.0, finished=False
    )
    return replace(run, **changes)


def kinds(endings: Endings) -> list[Ending]:
    return [record.ending for record in endings.records]


NOTHING = Ending.NO_PRODUCTION_EDIT
RUNS: list[tuple[str, Script, list[Ending]]] = [
    ("solve", solve(SOLVED), [Ending.FINISHED]),
    ("idle", SCRIPTS["idle"], [Ending.FINISHED, NOTHING]),
    ("tests only", SCRIPTS["tests_only"], [Ending.FINISHED, Ending.EDITS_OUTSIDE_ONLY]),
    ("loop", SCRIPTS["loop"],
     [Ending.REASONING_LOOP, Ending.RESPONSE_BUDGET_IN_REASONING, Ending.STOPPED, NOTHING]),
    ("ramble", SCRIPTS["ramble"], [Ending.RESPONSE_BUDGET_IN_CONTENT, Ending.STOPPED, NOTHING]),
    ("long call", SCRIPTS["long_call"],
     [Ending.RESPONSE_BUDGET_IN_TOOL_CALL, Ending.TOOL_CALL_LOOP, Ending.TURN_LIMIT, NOTHING]),
    ("broken calls", SCRIPTS["broken_calls"], [Ending.TOOL_CALL_UNPARSED, Ending.FINISHED, NOTHING]),
    ("call as text", SCRIPTS["call_as_text"], [Ending.TOOL_CALL_UNPARSED, Ending.STOPPED, NOTHING]),
    ("call in reasoning", SCRIPTS["call_in_reasoning"], [Ending.TOOL_CALL_IN_REASONING, Ending.STOPPED, NOTHING]),
    ("empty", SCRIPTS["empty"], [Ending.EMPTY_REPLY, Ending.STOPPED, NOTHING]),
    ("talk", SCRIPTS["talk"], [Ending.STOPPED, NOTHING]),
    ("repeat", SCRIPTS["repeat"], [Ending.TOOL_CALL_LOOP, Ending.TURN_LIMIT, NOTHING]),
    ("drop", SCRIPTS["drop"], [Ending.STREAM_BROKEN, Ending.STOPPED, NOTHING]),
    ("error in stream", SCRIPTS["error_in_stream"], [Ending.STREAM_BROKEN, Ending.STOPPED, NOTHING]),
    ("die", SCRIPTS["die"], [Ending.SERVER_DIED, Ending.STOPPED, NOTHING]),
    ("error 500", SCRIPTS["error_500"], [Ending.SERVER_ERROR, Ending.STOPPED, NOTHING]),
    ("unparsed", SCRIPTS["unparsed"], [Ending.TOOL_CALL_UNPARSED, Ending.STOPPED, NOTHING]),
    ("overflow in stream", SCRIPTS["overflow_in_stream"], [Ending.PROMPT_OVERFLOW, Ending.STOPPED, NOTHING]),
    ("unparsed in stream", SCRIPTS["unparsed_in_stream"], [Ending.TOOL_CALL_UNPARSED, Ending.STOPPED, NOTHING]),
    ("overflow", SCRIPTS["overflow"], [Ending.PROMPT_OVERFLOW, Ending.STOPPED, NOTHING]),
]  # fmt: skip


@pytest.mark.parametrize(("script", "expected"), [run[1:] for run in RUNS], ids=[run[0] for run in RUNS])
def test_how_a_run_ends(script: Script, expected: list[Ending], tmp_path: Path) -> None:
    endings = attempt(script, tmp_path)
    assert kinds(endings) == expected
    times = [record.at_seconds for record in endings.records]
    assert times == sorted(times)


ABORTED: list[tuple[str, Script, list[Ending]]] = [
    ("in reasoning", SCRIPTS["loop"], [Ending.REASONING_LOOP, Ending.LOOP_ABORTED, NOTHING]),
    ("in text", SCRIPTS["ramble"], [Ending.LOOP_ABORTED, NOTHING]),
    ("in a tool call", SCRIPTS["long_call"], [Ending.LOOP_ABORTED, NOTHING]),
    ("of calls", SCRIPTS["repeat"], [Ending.TOOL_CALL_LOOP, Ending.LOOP_ABORTED, NOTHING]),
    ("none", solve(SOLVED), [Ending.FINISHED]),
]  # fmt: skip


@pytest.mark.parametrize(("script", "expected"), [run[1:] for run in ABORTED], ids=[run[0] for run in ABORTED])
def test_a_loop_ends_the_attempt_where_that_is_asked_for(
    script: Script, expected: list[Ending], tmp_path: Path
) -> None:
    endings = attempt(script, tmp_path, replace(LIMITS, response_tokens=20_000), abort_loops=True)
    assert kinds(endings) == expected
    if Ending.LOOP_ABORTED in expected:
        assert endings.tokens_left is not None and endings.tokens_left > 18_000
        assert "round in circles" in endings.records[expected.index(Ending.LOOP_ABORTED)].detail


def test_the_clock_with_a_good_tree_in_place(tmp_path: Path) -> None:
    limits = replace(LIMITS, task_seconds=2.0, response_tokens=100_000)
    endings = attempt(slow(SOLVED), tmp_path, limits)
    assert kinds(endings) == [Ending.TASK_CLOCK]
    assert endings.seconds_left == 0.0
    assert endings.records[0].at_seconds == pytest.approx(2.0, abs=1.0)
    assert "tokens" in endings.records[0].detail


def test_a_full_context_is_told_from_a_used_up_budget(tmp_path: Path) -> None:
    limits = replace(LIMITS, context=900, response_tokens=100_000)
    endings = attempt(in_turn(Say(reasoning="thinking on " * 5_000)), tmp_path, limits)
    assert Ending.CONTEXT_FULL in kinds(endings)
    assert Ending.RESPONSE_BUDGET_IN_REASONING not in kinds(endings)


def test_head_room_is_that_of_the_longest_response(tmp_path: Path) -> None:
    endings = attempt(in_turn(Say("word " * 120, calls=use("list_files").calls), use("finish")), tmp_path)
    assert endings.tokens_left is not None
    assert 300 < endings.tokens_left < 380
    assert 0 < endings.seconds_left < 30


def test_several_endings_come_in_order_with_head_room_on_the_others(tmp_path: Path) -> None:
    """A broken call, then a test file, then a loop to the cap: clock, context and turns had room left."""
    script = in_turn(
        use("list_files"),
        Say(calls=(Call("run", '{"comm'),)),
        use("write_file", path="tests/test_more.py", content="x = 1\n"),
        Say(reasoning=LOOP * 400),
    )
    endings = attempt(script, tmp_path)
    assert kinds(endings) == [
        Ending.TOOL_CALL_UNPARSED, Ending.REASONING_LOOP, Ending.RESPONSE_BUDGET_IN_REASONING, Ending.STOPPED,
        Ending.EDITS_OUTSIDE_ONLY,
    ]  # fmt: skip
    first, loop = endings.records[0], endings.records[1]
    assert first.detail.startswith("request 2") and loop.detail.startswith("request 4")
    assert first.at_seconds < loop.at_seconds
    assert endings.tokens_left == 0
    assert endings.turns_left == 1, "asked once more after the loop"
    assert endings.context_left is not None and 20_000 < endings.context_left < 32_000
    assert 0 < endings.seconds_left < 30


def test_a_server_that_dies_after_the_first_request_is_told_apart_from_a_broken_stream(tmp_path: Path) -> None:
    (record, *_) = attempt(SCRIPTS["die"], tmp_path).records
    assert record.ending is Ending.SERVER_DIED and record.detail.startswith("request 2")


def an_exchange(number: int = 1, **changes: Any) -> Exchange:
    values: dict[str, Any] = {
        "number": number, "path": "/v1/chat/completions", "requested_at": number - 1.0, "ended_at": float(number),
        "request": {"max_tokens": 500}, "status": 200, "finish_reason": "stop", "content": "fine",
        "usage": {"completion_tokens": 10, "prompt_tokens": 100},
    }  # fmt: skip
    return Exchange(**{**values, **changes})


Classify = Callable[..., list[Ending]]


@pytest.fixture
def classify() -> Classify:
    def classify(*exchanges: Exchange, run: AgentRun | None = None, server_died: bool = False) -> list[Ending]:
        return kinds(classify_endings(exchanges, run or a_run(), ["a.py"], [], LIMITS, server_died=server_died))

    return classify


def tokens(count: int, prompt: int = 100) -> dict[str, Any]:
    return {"usage": {"completion_tokens": count, "prompt_tokens": prompt}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"finish_reason": "length", **tokens(500), "content": ""}, Ending.RESPONSE_BUDGET_IN_REASONING),
        ({"finish_reason": "length", **tokens(500)}, Ending.RESPONSE_BUDGET_IN_CONTENT),
        ({"finish_reason": "length", **tokens(50), "request": {"max_tokens": 50}}, Ending.RESPONSE_BUDGET_IN_CONTENT),
        ({"finish_reason": "length", **tokens(400, 32_350)}, Ending.CONTEXT_FULL),
        ({"finish_reason": "length", **tokens(400)}, Ending.SERVER_LIMIT),
        ({"finish_reason": "tool_calls", **tokens(500), "tool_calls": (ToolCall("run", '{"a'),)},
         Ending.RESPONSE_BUDGET_IN_TOOL_CALL),
        ({"finish_reason": "tool_calls", "tool_calls": (ToolCall("run", '{"a'),)}, Ending.TOOL_CALL_UNPARSED),
        ({"finish_reason": "tool_calls", "tool_calls": (ToolCall("", "{}"),)}, Ending.TOOL_CALL_UNPARSED),
        ({"content": "<function=run>"}, Ending.TOOL_CALL_UNPARSED),
        ({"content": " ", "reasoning": "so: <tool_call>"}, Ending.TOOL_CALL_IN_REASONING),
        ({"content": " ", "reasoning": "so"}, Ending.EMPTY_REPLY),
        ({"cut": Cut.BROKEN, "error_type": "exceed_context_size_error"}, Ending.PROMPT_OVERFLOW),
        ({"cut": Cut.BROKEN, "error": "This model's maximum context length is 8192"}, Ending.PROMPT_OVERFLOW),
        ({"cut": Cut.BROKEN, "error": "failed to decode the batch"}, Ending.STREAM_BROKEN),
    ],
)  # fmt: skip
def test_one_reply(classify: Classify, changes: dict[str, Any], expected: Ending) -> None:
    assert classify(an_exchange(**changes)) == [expected, Ending.STOPPED]


def test_a_call_that_reaches_the_cap_whole_is_no_ending(classify: Classify) -> None:
    whole = {"finish_reason": "tool_calls", **tokens(500), "tool_calls": (ToolCall("run", "{}"),)}
    assert classify(an_exchange(**whole)) == [Ending.STOPPED]


def test_an_agent_without_events_finishes_with_a_text(classify: Classify) -> None:
    silent = a_run(finished=None)
    assert classify(an_exchange(), run=silent) == [Ending.FINISHED]
    assert classify(an_exchange(tool_calls=(ToolCall("run", "{}"),)), run=silent) == [Ending.STOPPED]
    assert classify(run=silent) == [Ending.STOPPED]


def test_a_crash_says_why() -> None:
    run = a_run(exit_code=137, oom_killed=True, stderr_tail="Traceback\nMemoryError\n")
    (record,) = classify_endings([], run, ["a.py"], [], LIMITS).records
    assert record == (Ending.AGENT_CRASHED, 20.0, "exit code 137, a process was killed for memory: MemoryError")


@pytest.mark.parametrize("cut", [Cut.UPSTREAM, Cut.REFUSED, Cut.BROKEN])
def test_an_exit_code_of_1_after_an_answer_that_was_none_is_no_crash(classify: Classify, cut: Cut) -> None:
    refused = an_exchange(cut=cut, status=404, content="", finish_reason=None)
    assert Ending.AGENT_CRASHED not in classify(refused, run=a_run(exit_code=1, finished=None))
    assert Ending.AGENT_CRASHED in classify(refused, run=a_run(exit_code=139, finished=None))
    assert Ending.AGENT_CRASHED in classify(an_exchange(), run=a_run(exit_code=1, finished=None))


def test_a_title_is_no_sign_that_the_task_is_done(classify: Classify) -> None:
    call, title = an_exchange(tool_calls=(ToolCall("run", "{}"),)), an_exchange(number=2, auxiliary=True)
    assert classify(call, title, run=a_run(finished=None)) == [Ending.STOPPED]
    assert classify(call, an_exchange(number=2), run=a_run(finished=None)) == [Ending.FINISHED]


def test_a_connection_dropped_without_an_answer_is_a_death_only_if_the_server_died() -> None:
    dropped = an_exchange(cut=Cut.BROKEN, status=None, content="", finish_reason=None, error="ServerDisconnectedError")
    for died, expected in ((False, Ending.STREAM_BROKEN), (True, Ending.SERVER_DIED)):
        found = classify_endings([dropped], a_run(finished=None), ["a.py"], [], LIMITS, server_died=died)
        assert [record.ending for record in found.records if record.ending is not Ending.STOPPED] == [expected], died


@pytest.mark.parametrize("cut", [Cut.UPSTREAM, Cut.REFUSED, Cut.BROKEN])
def test_an_agent_cannot_finish_with_a_request_that_came_to_nothing(classify: Classify, cut: Cut) -> None:
    """It took the end of a summary of its own for its end."""
    refused = an_exchange(cut=cut, status=404, content="", finish_reason=None)
    assert Ending.FINISHED not in classify(refused, an_exchange(number=2, auxiliary=True), run=a_run(finished=True))
    assert Ending.FINISHED in classify(refused, an_exchange(number=2), run=a_run(finished=True))


def test_a_client_cut_counts_only_when_the_agent_lived_on(classify: Classify) -> None:
    hung_up = an_exchange(cut=Cut.CLIENT)
    assert classify(hung_up) == [Ending.AGENT_HUNG_UP, Ending.STOPPED]
    killed = a_run(ended=AgentEnd.CLOCK, exit_code=None, seconds=30.0)
    assert classify(hung_up, run=killed) == [Ending.TASK_CLOCK]


def test_a_server_seen_dead_is_told_though_no_request_met_it(classify: Classify) -> None:
    assert Ending.SERVER_DIED in classify(an_exchange(), server_died=True)
    assert Ending.SERVER_DIED in classify(server_died=True)
    broken = an_exchange(cut=Cut.BROKEN, error="reset")
    assert classify(broken, server_died=True)[0] is Ending.SERVER_DIED
    assert Ending.STREAM_BROKEN not in classify(broken, server_died=True)


def test_an_ending_is_listed_once_with_its_first_time() -> None:
    empty = {"content": "", "reasoning": ""}
    records = classify_endings([an_exchange(n, **empty) for n in (3, 1, 2)], a_run(), ["a.py"], [], LIMITS).records
    assert records[0] == (Ending.EMPTY_REPLY, 1.0, "request 1: 10 tokens (3 times)")


def test_every_ending_has_a_definition_and_its_name_as_value() -> None:
    for ending in Ending:
        assert ending.value == ending.name.lower()
        assert Ending(ending.value) is ending
        assert 10 < len(ending.definition) < 100 and len(ending.sign) > 10


def test_the_written_definitions_are_those_of_the_code() -> None:
    """To renew it: python -m pytest_agentgrade.attempt.ending_kinds > docs/endings.md"""
    assert (Path(__file__).parents[2] / "docs" / "endings.md").read_text(encoding="utf-8") == as_markdown()


def test_every_ending_has_a_run_or_an_exchange_of_its_own_in_this_file() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert [ending.name for ending in Ending if f"Ending.{ending.name}" not in source] == []
