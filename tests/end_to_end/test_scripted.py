"""The whole pipeline - workspace, proxy, agent in its container, snapshot, judge - with a scripted model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.graded import PROJECT, QUIET_PLUGINS, Graded, properties_of, run_pytest, scripted_mode, write_settings
from tests.scripted_server import SCRIPTS, ScriptedServer, references, slow, solve

TASK = "sqlite_transfers"
FILES = references(PROJECT / "task_fixtures", PROJECT / "hidden_checks")
MODES = {
    "solve": solve(FILES),
    "slow": slow(FILES),
    **{name: SCRIPTS[name] for name in ("idle", "tests_only", "loop", "broken_calls", "drop", "die", "overflow")},
}
"""Mode name -> script; every mode has a server of its own."""


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graded]:
    folder = tmp_path_factory.mktemp("scripted")
    with ExitStack() as stack:
        settings = "task_seconds = 20\nresponse_tokens = 2000\nseeds = [4242]\n"
        for mode, script in MODES.items():
            server = stack.enter_context(ScriptedServer(script))
            settings += scripted_mode(server.url, mode)
        write_settings(folder, settings)
        yield run_pytest(
            folder, f"--agent-mode={','.join(MODES)}", f"--agent-task={TASK}", "--agent-exit=measure",
            "--junitxml=junit.xml", *QUIET_PLUGINS, "--tb=no", seconds=900,
        )  # fmt: skip


def endings(graded: Graded, mode: str) -> list[str]:
    submission = graded.records[f"{TASK}[{mode}-4242]"].submission
    assert submission is not None
    return [ending.ending for ending in submission.endings]


EXPECTED = {
    "solve": (10, ["finished"]),
    "slow": (10, ["task_clock"]),
    "idle": (1, ["finished", "no_production_edit"]),
    "tests_only": (1, ["finished", "edits_outside_only"]),
    "loop": (1, ["reasoning_loop", "response_budget_in_reasoning", "no_production_edit"]),
    "broken_calls": (1, ["tool_call_unparsed", "finished", "no_production_edit"]),
    "drop": (1, ["stream_broken", "no_production_edit"]),
    "die": (1, ["server_died", "no_production_edit"]),
    "overflow": (1, ["prompt_overflow", "no_production_edit"]),
}


@pytest.mark.parametrize("mode", MODES)
def test_every_attempt_is_graded_and_ends_as_scripted(graded: Graded, mode: str) -> None:
    passed, expected = EXPECTED[mode]
    record = graded.records[f"{TASK}[{mode}-4242]"]
    assert record.complete, record.fault
    assert record.passed == passed
    assert set(expected) <= set(endings(graded, mode)), endings(graded, mode)


def test_a_good_tree_counts_although_the_clock_ran_out(graded: Graded) -> None:
    record = graded.records[f"{TASK}[slow-4242]"]
    assert record.delivers and record.agent is not None and record.agent.ended == "clock"
    assert 20.0 <= record.agent.clock_seconds < 26.0


def test_measured_means_exit_0_whatever_the_score(graded: Graded) -> None:
    assert graded.code == 0, graded.output


def test_the_proxy_forced_what_the_experiment_says(graded: Graded) -> None:
    agent = graded.records[f"{TASK}[solve-4242]"].agent
    assert agent is not None and agent.sampling_seed == 4242 and agent.requests >= 4
    first = {record.agent.first_request_sha256 for record in graded.records.values() if record.agent}
    assert len(first) == 1, "all modes got the same first request, byte for byte"


def test_the_summary_counts_each_limit(graded: Graded) -> None:
    stops = graded.output.split("that met ")[1]
    table = {line.split()[0]: line.split()[1:] for line in stops.splitlines()[1 : len(MODES) + 1]}
    assert table["loop"] == ["1", "1", "0", "1"]
    assert table["slow"][0] == "0" and table["slow"][2:] == ["1", "0"]
    assert table["solve"] == ["0", "0", "0", "0"] and table["tests_only"] == ["0", "0", "0", "1"]


def test_everything_an_attempt_left_is_on_disk(graded: Graded) -> None:
    folder = graded.run.folder / "attempts" / TASK / "solve-4242"
    assert {path.name for path in folder.iterdir()} >= {
        "1-workspace.json", "2-server.json", "3-agent.json", "4-submission.json", "exchanges.jsonl", "agent.stdout",
        "submission.tar", "submission.patch", "verdicts",
    }  # fmt: skip


def test_junit_says_how_each_attempt_ended(graded: Graded) -> None:
    (case, *_) = [case for case in graded.testcases() if case.name.endswith("[loop-4242]")]
    properties = properties_of(case)
    assert "response_budget_in_reasoning" in properties["agentgrade.endings"].split(",")
    assert properties["agentgrade.mode_proof"] == "unproven"


def test_nothing_but_records_is_left_in_the_folder(graded: Graded) -> None:
    assert {path.name for path in Path(graded.folder).iterdir()} == {"agentgrade.toml", "agentgrade-runs", "junit.xml"}


def test_the_summary_ends_with_a_verdict_on_each_mode_against_the_first(graded: Graded) -> None:
    """Servers reached by URL do not tell their model: such pairs count, and are said to be unproven."""
    _, found, verdict = " ".join(graded.output.split()).partition("idle against solve: ")
    assert found and verdict.startswith("No evidence that idle or solve delivers more working patches")
    assert "One pair cannot show any difference" in verdict
    unproven = "Pairs: 0 proven, 0 invalid, 1 unproven. Unproven pairs count, but nobody knows that these were equal:"
    assert unproven in verdict and "model file" in verdict.partition(unproven)[2].partition(". ")[0]
