"""Gates that name two modes: what they need to be judged, and what their line says of unequal cells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_agentgrade.cli import EXIT_GATE, EXIT_OK, EXIT_USAGE, main
from pytest_agentgrade.records.model import AttemptRecord
from tests.analysis.proven_records import a_full_attempt
from tests.stored_runs import store_run

Captured = pytest.CaptureFixture[str]
LESS = "mtp.success_rate < baseline.success_rate - 0.05"
NOT_JUDGED = "gate not judged: no pair of mtp and baseline that may be compared: "


def compared(capsys: Captured, *arguments: str | Path, code: int) -> str:
    assert main(["compare", *map(str, arguments)]) == code
    return " ".join(capsys.readouterr().out.split())


def drawn(record: AttemptRecord, seed: str) -> AttemptRecord:
    """The same attempt, judged with other random inputs."""
    verdicts = [one.model_copy(update={"draw_seed": seed}) for one in record.verdicts]
    return record.model_copy(update={"verdicts": verdicts})


def test_modes_without_a_valid_pair_let_nothing_pass(tmp_path: Path, capsys: Captured) -> None:
    baseline = store_run(tmp_path / "b", [a_full_attempt("baseline")])
    mtp = store_run(tmp_path / "m", [a_full_attempt("mtp", image_id="sha256:other")], created_at=2.0)
    text = compared(capsys, baseline, mtp, "--fail-if", LESS, code=EXIT_GATE)
    assert "Pairs: 0 proven, 1 invalid, 0 unproven." in text and f"{NOT_JUDGED}{LESS}" in text
    elsewhere = store_run(tmp_path / "e", [a_full_attempt("mtp", seed=7)], created_at=3.0)
    assert f"{NOT_JUDGED}{LESS}" in compared(capsys, baseline, elsewhere, "--fail-if", LESS, code=EXIT_GATE)
    assert main(["compare", str(baseline), str(mtp), "--fail-if", LESS, "--format", "json"]) == EXIT_GATE
    (gate,) = json.loads(capsys.readouterr().out)["gates"]
    assert (gate["tripped"], gate["judged"]) == (True, False)


def test_a_question_about_one_mode_needs_no_pair(tmp_path: Path, capsys: Captured) -> None:
    runs = [
        store_run(tmp_path / mode, [a_full_attempt(mode, image_id=mode)], created_at=at)
        for at, mode in enumerate(("baseline", "mtp"))
    ]
    text = compared(capsys, *runs, "--fail-if", "mtp.success_rate < 0.5", code=EXIT_OK)
    assert "gate passed: mtp.success_rate (1) is not below 0.5 records" in text
    assert "not judged" in compared(
        capsys, *runs, "--fail-if", "mtp.success_rate < 0.5 and baseline.success_rate > 0.5", code=EXIT_GATE
    )


def test_every_two_modes_that_a_gate_names_need_a_pair(tmp_path: Path, capsys: Captured) -> None:
    records = [a_full_attempt("baseline"), a_full_attempt("mtp"), a_full_attempt("q4", image_id="sha256:other")]
    run = store_run(tmp_path / "r", records)
    compared(capsys, run, "--fail-if", "mtp.success_rate < baseline.success_rate", code=EXIT_OK)
    three = "mtp.success_rate + q4.success_rate < baseline.success_rate"
    text = compared(capsys, run, "--fail-if", three, code=EXIT_GATE)
    assert "gate not judged: no pair of mtp and q4 that may be compared" in text


def test_figures_of_other_cells_are_told_as_such(tmp_path: Path, capsys: Captured) -> None:
    both = [a_full_attempt(mode, 10 if seed % 2 else 1, seed=seed) for seed in (1, 2) for mode in ("baseline", "mtp")]
    more = "mtp.success_rate > baseline.success_rate + 0.05"
    text = compared(capsys, store_run(tmp_path / "even", both), "--fail-if", more, code=EXIT_OK)
    assert "gate passed" in text and "same cells" not in text
    odd = store_run(tmp_path / "odd", [*both, a_full_attempt("mtp", seed=3)])
    text = compared(capsys, odd, "--fail-if", more, code=EXIT_GATE)
    assert "(0.55); these figures are not of the same cells: mtp has 1 attempt in no valid pair records" in text
    unlike = [a_full_attempt("baseline", seed=4), a_full_attempt("mtp", seed=4, image_id="sha256:other")]
    text = compared(capsys, store_run(tmp_path / "u", [*both, *unlike]), "--fail-if", more, code=EXIT_OK)
    assert "cells: mtp has 1 attempt in no valid pair, baseline has 1 attempt in no valid pair" in text


def test_other_draws_come_with_a_remedy(tmp_path: Path, capsys: Captured) -> None:
    baseline = store_run(tmp_path / "b", [drawn(a_full_attempt("baseline"), "aa")])
    mtp = store_run(tmp_path / "m", [drawn(a_full_attempt("mtp"), "bb")], created_at=2.0)
    text = compared(capsys, baseline, mtp, code=EXIT_OK)
    assert "t seed 4242: draws: " in text
    assert "Run the modes in one run (pytest --agent-mode=baseline,mtp), or give each run --agent-draws=FILE" in text
    image = store_run(tmp_path / "i", [a_full_attempt("mtp", image_id="sha256:other")], created_at=3.0)
    assert "Other draws" not in compared(capsys, store_run(tmp_path / "c", [a_full_attempt()]), image, code=EXIT_OK)


@pytest.fixture
def only_mtp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose only run is one of mtp."""
    monkeypatch.chdir(tmp_path)
    store_run(tmp_path / "agentgrade-runs" / "m", [a_full_attempt("mtp")])
    return tmp_path


@pytest.mark.usefixtures("only_mtp")
def test_a_gate_on_modes_with_runs_needs_no_other_run(capsys: Captured) -> None:
    text = compared(capsys, "--fail-if", "mtp.success_rate < 0.5", code=EXIT_OK)
    assert "gate passed: mtp.success_rate (1) is not below 0.5" in text
    assert main(["compare", "--fail-if", LESS]) == EXIT_USAGE
    assert "no run of mode 'baseline'" in capsys.readouterr().err
    assert main(["compare", "--fail-if", "mpt.success_rate < 1"]) == EXIT_USAGE


@pytest.mark.usefixtures("only_mtp")
def test_a_slip_in_a_metric_is_told_before_runs_are_looked_for(capsys: Captured) -> None:
    for gate in ("mtp.sucess_rate < baseline.success_rate", "q4.1.sucess_rate < 1"):
        assert main(["compare", "--fail-if", gate]) == EXIT_USAGE
        assert "sucess_rate' - did you mean 'success_rate'?" in capsys.readouterr().err


def test_without_the_usual_modes_those_with_runs_are_compared(only_mtp: Path, capsys: Captured) -> None:
    assert main(["compare"]) == EXIT_USAGE
    said = capsys.readouterr().err
    assert "only mode 'mtp' has a run in" in said
    assert "pytest --agent-mode=baseline,mtp, or agentgrade compare --mode mtp" in said
    store_run(only_mtp / "agentgrade-runs" / "q", [a_full_attempt("q4")], created_at=2.0)
    assert "mtp against q4:" in compared(capsys, code=EXIT_OK)
    store_run(only_mtp / "agentgrade-runs" / "b", [a_full_attempt("baseline")], created_at=3.0)
    assert "q4" not in compared(capsys, code=EXIT_OK)
