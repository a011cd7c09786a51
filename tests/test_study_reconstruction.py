"""The published tables from a reconstruction from published figures (16 records made for it), and our verdict on it."""

from __future__ import annotations

import pytest

from pytest_agentgrade.analysis.matrix import matrices
from pytest_agentgrade.analysis.pairs import ProofStatus
from pytest_agentgrade.analysis.summary import summarise
from pytest_agentgrade.reporting.several_runs import Report, report_on
from tests.study_reconstruction import SEEDS, store_study, study_plan, study_records


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return report_on([store_study(tmp_path_factory.mktemp("study") / "study-2026-10")])


def test_the_order_of_the_modes_was_reversed_for_the_second_seed() -> None:
    keys = study_plan().keys
    assert [key.seed for key in keys] == [SEEDS[0]] * 8 + [SEEDS[1]] * 8
    assert [key.mode for key in keys] == ["baseline", "mtp"] * 4 + ["mtp", "baseline"] * 4
    assert all(one.task == other.task for one, other in zip(keys[::2], keys[1::2], strict=True))


def test_checks_passed_and_speed_are_the_published_ones() -> None:
    off, on = summarise(study_records())
    assert (off.mode, off.checks_passed, off.checks_total) == ("baseline", 35, 80)
    assert (on.mode, on.checks_passed, on.checks_total) == ("mtp", 26, 80)
    assert off.tokens_per_second == pytest.approx(36.0) and on.tokens_per_second == pytest.approx(56.2)
    assert on.tokens_per_second / off.tokens_per_second - 1 == pytest.approx(0.56, abs=0.005)


def test_short_tool_choice_responses_have_their_own_range_of_speeds() -> None:
    off, on = (one.speed for one in summarise(study_records()))
    assert (off.short_low, off.short_high) == (pytest.approx(38.9), pytest.approx(39.8))
    assert (on.short_low, on.short_high) == (pytest.approx(74.0), pytest.approx(84.2))


def test_the_table_of_tasks_is_the_published_one() -> None:
    totals = {matrix.task: dict(zip(matrix.labels, matrix.totals, strict=True)) for matrix in matrices(study_records())}
    of_pairs = {
        task: [(found[f"baseline-{seed}"], found[f"mtp-{seed}"]) for seed in SEEDS] for task, found in totals.items()
    }
    assert of_pairs == {
        "expiring_cache": [("10/10", "10/10"), ("10/10", "10/10")],
        "csv_ledger": [("1/10", "1/10"), ("1/10", "1/10")],
        "build_planner": [("1/10", "1/10"), ("1/10", "1/10")],
        "sqlite_transfers": [("1/10", "1/10"), ("10/10", "1/10")],
    }


def test_eight_pairs_are_proved_and_one_differs(report: Report) -> None:
    (contrast,) = report.contrasts
    assert len(contrast.pairs.with_status(ProofStatus.PROVEN)) == 8
    assert contrast.comparison is not None
    assert contrast.comparison.counts == (2, 1, 0, 5) and contrast.comparison.counts.discordant == 1
    (differing,) = [p for p in contrast.pairs.tried if p.first.record.passed != p.second.record.passed]
    assert str(differing.cell) == "sqlite_transfers seed 8675309"


def test_the_published_savings_of_the_cache_pairs_are_shown(report: Report) -> None:
    text = report.render("text")
    assert "expiring_cache seed 4242: 192.0 s -> 153.5 s (-20.1 %)" in text
    assert "expiring_cache seed 8675309: 431.2 s -> 259.0 s (-39.9 %)" in text
    assert text.count(" s -> ") == 2


def test_our_statistics_say_that_eight_pairs_show_no_winner(report: Report) -> None:
    (contrast,) = report.contrasts
    found = contrast.comparison
    assert found is not None
    assert (found.p, found.winner, found.faster_per_hour, found.order) == (1.0, None, None, "balanced")
    assert found.difference == -1 / 8 and found.difference_interval.low < -0.125 < 0 < found.difference_interval.high
    text = " ".join(report.render("text").split())
    assert "No evidence that mtp or baseline delivers more working patches: mtp 2 of 8, baseline 3 of 8" in text
    assert "Noise floor: eight pairs of nothing but chance stay within 25 points 95 times in 100" in text
    assert "the observed -12 points are not larger than that" in text
    assert "Eight pairs cannot reliably show a difference under" in text
    assert "said of these 4 tasks only" in text
    assert "short tool choices and chat run 2.01 times as fast with mtp (78.9 against 39.3 tok/s)" in text
    assert "all responses 1.56 times" in text and "which these pairs cannot tell from no change" in text


def test_patches_per_hour_are_what_the_clocks_come_to(report: Report) -> None:
    off, on = summarise(report.experiment.records)
    assert off.patches_per_hour == pytest.approx(3600 * 3 / (192.0 + 431.2 + 480.1 + 5 * 250.0))
    assert on.patches_per_hour == pytest.approx(3600 * 2 / (153.5 + 259.0 + 186.1 + 5 * 170.0))


def test_most_failures_are_the_spent_budget_and_the_clock_is_no_failure(report: Report) -> None:
    off, on = summarise(report.experiment.records)
    assert (off.met("response_budget_in_reasoning"), on.met("response_budget_in_reasoning")) == (5, 5)
    (clocked,) = [
        r for r in report.experiment.records if r.submission and r.submission.endings[0].ending == "task_clock"
    ]
    assert clocked.delivers
