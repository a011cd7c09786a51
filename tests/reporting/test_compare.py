"""``agentgrade compare`` as a user and a CI job call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_agentgrade.cli import EXIT_GATE, EXIT_OK, EXIT_USAGE, main
from pytest_agentgrade.records.junit_input import parse_junit
from pytest_agentgrade.records.model import EndingRecord
from pytest_agentgrade.reporting.several_runs import report_on
from tests.analysis.proven_records import a_full_attempt
from tests.stored_runs import store_run
from tests.study_reconstruction import store_study

Captured = pytest.CaptureFixture[str]


def unfolded(capsys: Captured) -> str:
    """What was printed, with one blank wherever there is white space."""
    return " ".join(capsys.readouterr().out.split())


@pytest.fixture
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two environments that ran one mode each; the second attempt of mtp had another image."""
    monkeypatch.chdir(tmp_path)
    base = tmp_path / "agentgrade-runs"
    for number, (mode, passed) in enumerate((("baseline", 10), ("mtp", 1))):
        records = [a_full_attempt(mode, passed, seed=seed) for seed in range(1, 8)]
        if mode == "mtp":
            records[1] = a_full_attempt(mode, passed, seed=2, image_id="sha256:other")
        store_run(base / f"run-{number}", records, created_at=float(number))
    return base


@pytest.mark.usefixtures("apart")
def test_the_newest_run_of_each_mode_is_found(capsys: Captured) -> None:
    assert main(["compare"]) == EXIT_OK
    text = unfolded(capsys)
    assert "baseline delivers more working patches than mtp on these tasks: 6 of 6 against 0 of 6" in text
    assert "Pairs: 6 proven, 1 invalid, 0 unproven." in text
    assert "records: agentgrade-runs/run-0 records: agentgrade-runs/run-1" in text
    assert " t seed 2: sandbox image: sha256:55 | sha256:other" in text
    assert "The modes ran one after the other" in text


def test_a_single_run_has_its_verdict_in_the_report_too(tmp_path: Path, capsys: Captured) -> None:
    folder = store_study(tmp_path / "study")
    assert main(["report", str(folder)]) == EXIT_OK
    assert "No evidence that mtp or baseline delivers more" in unfolded(capsys)


def test_a_run_is_named_by_its_name_and_the_report_is_of_the_newest(apart: Path, capsys: Captured) -> None:
    assert main(["report"]) == EXIT_OK
    assert "records: agentgrade-runs/run-1" in unfolded(capsys)
    assert main(["report", "run-0"]) == EXIT_OK
    assert "records: agentgrade-runs/run-0" in unfolded(capsys)
    assert main(["compare", "run-0", str(apart / "run-1")]) == EXIT_OK
    assert "Pairs: 6 proven" in unfolded(capsys)
    assert main(["report", "run-7"]) == main(["regrade", "run-7"]) == EXIT_USAGE
    for line in capsys.readouterr().err.splitlines():
        assert "run-7 is no path, and no run in" in line and "the newest runs there: run-1, run-0" in line


@pytest.mark.usefixtures("apart")
def test_a_report_keeps_to_the_terminal(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    for columns, width in ((40, 60), (80, 80), (200, 100)):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main(["compare"]) == EXIT_OK
        widths = [len(line) for line in capsys.readouterr().out.splitlines()]
        assert width - 20 < max(widths) <= width


def test_a_folder_its_junit_file_and_any_order_give_the_same_figures(tmp_path: Path) -> None:
    folder, xml = store_study(tmp_path / "study"), tmp_path / "study.xml"
    assert main(["compare", str(folder), "-o", str(xml)]) == EXIT_OK
    figures = [json.loads(report_on([path]).render("json"))["comparisons"][0]["figures"] for path in (folder, xml)]
    assert figures[0] == figures[1]


@pytest.mark.parametrize(
    ("gates", "code"),
    [
        (["mtp.success_rate < baseline.success_rate - 0.05"], EXIT_GATE),
        (["mtp.success_rate < baseline.success_rate - 0.2"], EXIT_OK),
        (["mtp.invalid_pairs > 0", "mtp.patches_per_hour < baseline.patches_per_hour"], EXIT_OK),
        (["mtp.invalid_pairs > 0", "mtp.difference_low < -0.1"], EXIT_GATE),
        (["mtp.success_rate < baseline.sucess_rate"], EXIT_USAGE),
        (["mtp.success_rate < "], EXIT_USAGE),
    ],
)
def test_gates_have_their_own_exit_code(tmp_path: Path, capsys: Captured, gates: list[str], code: int) -> None:
    folder = store_study(tmp_path / "study")
    assert main(["compare", str(folder), *(word for gate in gates for word in ("--fail-if", gate))]) == code
    said = capsys.readouterr()
    if code == EXIT_USAGE:
        assert "did you mean 'success_rate'?" in said.err or "it is no expression" in said.err
        assert not said.out
    else:
        assert sum(line.startswith("gate ") for line in said.out.splitlines()) == len(gates)
        assert ("gate FAILED" in said.out) == (code == EXIT_GATE)


def test_a_gate_is_asked_at_every_budget(tmp_path: Path, capsys: Captured) -> None:
    records = [
        a_full_attempt(mode, passed, seed=seed, budget=budget)
        for seed in range(1, 4)
        for budget, on in ((8192, 1), (16_384, 10))
        for mode, passed in (("baseline", 10), ("mtp", on))
    ]
    folder = store_run(tmp_path / "budgets", records)
    assert main(["compare", str(folder), "--fail-if", "mtp.success_rate < 0.5"]) == EXIT_GATE
    text = unfolded(capsys)
    assert "gate FAILED: mtp.success_rate (0) is below 0.5 (at 8192 tokens)" in text
    assert "gate passed: mtp.success_rate (1) is not below 0.5 (at 16384 tokens)" in text
    assert "mtp against baseline, responses of up to 16384 tokens:" in text
    assert "Budget: mtp minus baseline is -100 points at 8192 tokens, +0 at 16384 (3 pairs at both" in text
    assert "whether the gap stays" in text


def test_merged_suites_are_by_mode_and_task(tmp_path: Path, capsys: Captured) -> None:
    assert main(["compare", str(store_study(tmp_path / "study")), "-o", str(tmp_path / "all.xml")]) == EXIT_OK
    assert capsys.readouterr().err == ""
    suites = {suite.name: suite for suite in parse_junit(tmp_path / "all.xml")}
    assert len(suites) == 8 and suites["mtp / csv_ledger"].tests == 20 and suites["mtp / csv_ledger"].failures == 18


def test_markdown_has_tables_lists_and_no_indented_line(tmp_path: Path, capsys: Captured) -> None:
    assert main(["compare", str(store_study(tmp_path / "study")), "--format", "markdown"]) == EXIT_OK
    text = capsys.readouterr().out
    assert "### mtp against baseline\n\nNo evidence" in text and "\n\n\n" not in text
    assert "\n- expiring_cache seed 4242: 192.0 s -> 153.5 s (-20.1 %)\n- expiring_cache" in text
    assert "| mode | attempts |" in text


def test_json_is_strict_and_complete(apart: Path, capsys: Captured) -> None:
    assert main(["compare", "--format", "json", "--fail-if", "mtp.success_rate < 0"]) == EXIT_OK
    data = json.loads(capsys.readouterr().out)
    (comparison,) = data["comparisons"]
    assert [pair["status"] for pair in comparison["pairs"]].count("invalid") == 1
    assert comparison["figures"]["invalid_pairs"] == 1 and comparison["figures"]["order"] == "blocked"
    assert data["gates"][0]["tripped"] is False and data["runs"] == ["run-0", "run-1"]
    assert apart.is_dir()


def test_what_is_no_run_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["compare"]) == EXIT_USAGE
    assert main(["compare", "missing.xml"]) == EXIT_USAGE
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and "no run of mode 'baseline'" in lines[0] and "missing.xml" in lines[1]


def test_the_first_mode_named_is_what_others_are_compared_with(tmp_path: Path, capsys: Captured) -> None:
    modes = ("baseline", "mtp", "q4")
    run = store_run(tmp_path / "r", [a_full_attempt(mode, seed=seed) for seed in (1, 2) for mode in modes])
    for given, first in (("mtp,baseline", "mtp"), ("q4", "q4"), ("baseline,q4", "baseline")):
        assert main(["compare", str(run), "--mode", given, "--format", "json"]) == EXIT_OK
        compared = json.loads(capsys.readouterr().out)["comparisons"]
        assert {one["first"] for one in compared} == {first} and len(compared) == 2
    assert main(["compare", str(run), "--mode", "mpt"]) == EXIT_USAGE
    assert "no attempt in mode 'mpt'" in capsys.readouterr().err


@pytest.mark.usefixtures("apart")
def test_the_newest_runs_are_compared_in_the_order_in_which_they_are_named(capsys: Captured) -> None:
    assert main(["compare", "--mode=mtp,baseline"]) == EXIT_OK
    assert "baseline against mtp:" in unfolded(capsys)


def test_endings_keep_the_order_in_which_they_came(tmp_path: Path) -> None:
    record = a_full_attempt("mtp")
    assert record.submission is not None
    came = ("response_budget_in_reasoning", "no_production_edit", "finished")
    endings = [EndingRecord(ending=ending, at_seconds=None) for ending in came]
    told = record.model_copy(update={"submission": record.submission.model_copy(update={"endings": endings})})
    (mode,) = json.loads(report_on([store_run(tmp_path / "r", [told])]).render("json"))["modes"]
    assert mode["endings"] == [list(came)]


def test_several_budgets_are_several_chances_to_see_a_change(tmp_path: Path, capsys: Captured) -> None:
    """A change that eleven cells show is none when it is the clearest of six."""
    records = [
        a_full_attempt(mode, 1 if (mode, budget) == ("mtp", 8192) else 10, seed=seed, budget=budget)
        for seed in range(1, 12)
        for mode in ("baseline", "mtp", "q4", "q5")
        for budget in (8192, 16_384, 32_768)
    ]
    alone = [one for one in records if one.key.mode in ("baseline", "mtp") and one.key.response_tokens < 32_768]
    assert main(["compare", str(store_run(tmp_path / "alone", alone))]) == EXIT_OK
    text = unfolded(capsys)
    assert "the gap does not stay, the budget changes it." in text and "of this change alone" not in text
    assert main(["compare", str(store_run(tmp_path / "several", records))]) == EXIT_OK
    text = unfolded(capsys)
    assert "95 % interval of this change alone" in text and "Holm-corrected for 6 changes)" in text
    assert "the budget changes it" not in text


def test_the_heading_says_no_more_than_what_was_run(tmp_path: Path, capsys: Captured) -> None:
    def heading(*runs: Path) -> str:
        assert main(["compare", *map(str, runs)]) == EXIT_OK
        return capsys.readouterr().out.splitlines()[0]

    both = [a_full_attempt(mode, seed=7) for mode in ("baseline", "mtp")]
    again = [one.model_copy(update={"key": one.key.model_copy(update={"repeat": 1})}) for one in both]
    repeated = store_run(tmp_path / "r", [*both, *again])
    assert heading(repeated) == "baseline, mtp: 1 task x 1 seed x 2 repeats, balanced order"
    more = store_run(tmp_path / "m", [a_full_attempt("mtp", seed=9)], created_at=2.0)
    assert heading(repeated, more) == "baseline, mtp: 4 + 1 attempts of 2 runs"
    second = store_run(tmp_path / "s", [a_full_attempt(mode, seed=9) for mode in ("baseline", "mtp")], created_at=3.0)
    assert heading(store_run(tmp_path / "f", both), second) == "baseline, mtp: 1 task x 2 seeds of 2 runs"
    alone = [store_run(tmp_path / one.key.mode, [one], created_at=at) for at, one in enumerate(both)]
    assert heading(*alone) == "baseline, mtp: 1 task x 1 seed, blocked order"
    ragged = store_run(tmp_path / "x", [*both, a_full_attempt("mtp", seed=9)])
    assert heading(ragged) == "baseline, mtp: 3 attempts, balanced order"
    page = tmp_path / "page.html"
    assert main(["compare", str(repeated), str(more), "-o", str(page)]) == EXIT_OK
    assert "agentgrade: baseline, mtp: 4 + 1 attempts of 2 runs" in page.read_text(encoding="utf-8")
