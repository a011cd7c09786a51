"""`--agent-abort-loops`: an attempt that goes round in circles ends early and is flagged; nothing else changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pytest_agentgrade.analysis.paired import outcome
from pytest_agentgrade.attempt.exchange import Cut
from pytest_agentgrade.attempt.proxy_log import read_log
from pytest_agentgrade.attempt.speeds import loops
from pytest_agentgrade.records.model import AttemptRecord
from tests.graded import PROJECT, QUIET_PLUGINS, Graded, properties_of, run_pytest, scripted_mode, write_settings
from tests.scripted_server import LOOP, Say, ScriptedServer, in_turn, references, solve, use

TASK = "sqlite_transfers"
CAP = 20_000
RATE = 2_500.0
"""Tokens / s: the cap takes eight seconds."""
LOOPING = in_turn(use("list_files"), Say(reasoning=LOOP * 4_000, tokens_per_second=RATE))


@pytest.fixture(scope="module", params=[(), ("--agent-abort-loops",)], ids=["off", "on"])
def graded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graded]:
    folder = tmp_path_factory.mktemp("abort")
    scripts = {"loop": LOOPING, "solve": solve(references(PROJECT / "task_fixtures", PROJECT / "hidden_checks"))}
    with ExitStack() as stack:
        settings = f"task_seconds = 60\nresponse_tokens = {CAP}\nseeds = [4242]\n"
        for mode, script in scripts.items():
            settings += scripted_mode(stack.enter_context(ScriptedServer(script)).url, mode)
        write_settings(folder, settings)
        yield run_pytest(
            folder, "--agent-mode=loop,solve", f"--agent-task={TASK}", "--agent-exit=measure", *request.param,
            "--junitxml=junit.xml", *QUIET_PLUGINS, "--tb=no", seconds=600,
        )  # fmt: skip


def record_of(graded: Graded, mode: str) -> tuple[AttemptRecord, list[str]]:
    record = graded.records[f"{TASK}[{mode}-4242]"]
    assert record.complete and record.agent is not None and record.submission is not None, record.fault
    return record, [ending.ending for ending in record.submission.endings]


def is_on(graded: Graded) -> bool:
    return bool(graded.run.run().settings["abort_loops"])


def test_a_looping_attempt_ends_early_only_where_that_was_asked_for(graded: Graded) -> None:
    record, endings = record_of(graded, "loop")
    assert record.agent is not None and record.agent.abort_loops == is_on(graded)
    assert "reasoning_loop" in endings, "the pass over the record finds it either way"
    if is_on(graded):
        assert endings == ["reasoning_loop", "loop_aborted", "no_production_edit"]
        assert record.agent.completion_tokens < CAP / 8 and record.agent.clock_seconds < CAP / RATE
        assert outcome(record).limited, "its time is a lower bound"
    else:
        assert "response_budget_in_reasoning" in endings and "loop_aborted" not in endings
        assert record.agent.completion_tokens > CAP and record.agent.clock_seconds > CAP / RATE


def test_the_record_of_the_cut_response_shows_the_loop(graded: Graded) -> None:
    looping = [one for one in read_log(_folder(graded) / "exchanges.jsonl") if one.reasoning.startswith(LOOP[:40])]
    assert looping and all(loops(exchange) for exchange in looping)
    assert (looping[0].cut is Cut.LOOP) == is_on(graded)


def _folder(graded: Graded) -> Path:
    return graded.run.folder / "attempts" / TASK / "loop-4242"


def test_an_attempt_without_a_loop_is_untouched(graded: Graded) -> None:
    record, endings = record_of(graded, "solve")
    assert record.delivers and endings == ["finished"] and not outcome(record).limited


def test_the_summary_and_junit_flag_it(graded: Graded) -> None:
    said = "Live abort of loops was on: 1 attempt cut by it."
    assert (said in graded.output) == is_on(graded)
    assert ("abort_loops=True (--agent-abort-loops)" in graded.output) == is_on(graded)
    (case, *_) = [case for case in graded.testcases() if case.name.endswith("[loop-4242]")]
    assert ("loop_aborted" in properties_of(case)["agentgrade.endings"].split(",")) == is_on(graded)


def test_two_modes_of_the_run_are_watched_alike(graded: Graded) -> None:
    assert {record.agent.abort_loops for record in graded.records.values() if record.agent} == {is_on(graded)}
