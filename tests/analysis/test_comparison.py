"""The comparison as a whole: the study's pairs, several modes, tasks as clusters, noise."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace

import pytest

from pytest_agentgrade.analysis.comparison import compare, correct
from pytest_agentgrade.analysis.figures import Interval
from pytest_agentgrade.analysis.holm import holm
from pytest_agentgrade.analysis.paired import ModeAttempts, PairCounts, count_pairs, outcome
from pytest_agentgrade.analysis.pass_at_k import mean_pass_at_k, pass_at_k
from pytest_agentgrade.analysis.population import infer_to_tasks
from tests.analysis.pairs_made_here import an_outcome, compared, pairs_of, study_pairs
from tests.records_made_here import an_attempt


def test_the_study_shows_no_difference() -> None:
    found = compared(study_pairs())
    assert found.counts == PairCounts(both=2, first_only=1, second_only=0, neither=5)
    assert (found.first.check_share, found.second.check_share) == (35 / 80, 26 / 80)
    assert (found.p, found.winner, found.faster_per_hour) == (1.0, None, None)
    assert -0.5 < found.difference_interval.low < -0.125 < found.difference_interval.high < 0.3
    assert found.first.pass_at_k == pytest.approx({1: 3 / 8, 2: 2 / 4})
    assert found.power.least_significant == 0.75


def test_a_clear_difference_has_a_winner() -> None:
    found = compared(pairs_of(both=4, first_only=1, second_only=12, neither=3))
    assert (found.winner, found.faster_per_hour) == ("on", "on")
    assert 0.0 not in found.difference_interval


def test_speed_alone_makes_no_winner() -> None:
    pairs = [p for p in study_pairs() if not p.first.success]
    slow = [
        type(p)(p.task, n, 0, 8192, an_outcome(1, 400.0), an_outcome(1, 100.0)) for n in range(5) for p in pairs[:4]
    ]
    found = compared(slow)
    assert found.times is not None
    assert found.times.p < 0.001
    assert (found.winner, found.faster_per_hour, found.p) == (None, None, 1.0)


def test_the_figures_are_json() -> None:
    found = compared(pairs_of(first_only=1, second_only=4, neither=3))
    assert found.rates is not None
    endless = replace(found, rates=replace(found.rates, ratio_interval=Interval(0.4, math.inf, "made here")))
    plain = json.loads(json.dumps(endless.to_dict(), allow_nan=False))
    assert plain["rates"]["ratio_interval"] == {"low": 0.4, "high": None, "method": "made here"}
    assert plain["counts"]["second_only"] == 4
    assert plain["winner"] is None


def test_several_comparisons_are_corrected() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.5]) == [1.0, 1.0]
    alone = compared(pairs_of(second_only=6, neither=2))
    assert alone.winner == "on"
    assert [one.winner for one in correct([alone, alone])] == [None, None]


def test_unequal_tasks_are_told() -> None:
    assert compared(pairs_of(both=8)).balanced
    assert not compared(pairs_of(both=7)).balanced


def test_nothing_to_compare_is_said_with_the_names() -> None:
    with pytest.raises(ValueError, match=r"no proven pair of 'a' and 'b'"):
        compare(ModeAttempts("a", ()), ModeAttempts("b", ()), [])


def test_pass_at_k_is_the_share_of_draws_with_a_success() -> None:
    assert pass_at_k(2, 5, 2) == pytest.approx(1 - (3 * 2) / (5 * 4))
    assert (pass_at_k(0, 3, 3), pass_at_k(3, 3, 1)) == (0.0, 1.0)
    assert mean_pass_at_k([("a", an_outcome(10)), ("a", an_outcome(1)), ("b", an_outcome(1))]) == {1: 0.25}
    with pytest.raises(ValueError, match="pass@3 needs at least 3 attempts"):
        pass_at_k(1, 2, 3)


def test_other_tasks_only_from_ten_tasks_on() -> None:
    assert infer_to_tasks(pairs_of(second_only=4, neither=5, tasks=9)).difference_interval is None
    found = infer_to_tasks(pairs_of(second_only=4, neither=6, tasks=10)).difference_interval
    assert found is not None
    half = 2.2622 * math.sqrt((10 * 0.4 * 0.6 + 2 * 0.5**2) / 9 / 10)
    assert (found.low, found.high) == pytest.approx((0.4 - half, 0.4 + half), abs=1e-4)


def test_ten_tasks_that_all_show_the_same_do_not_settle_it() -> None:
    found = infer_to_tasks(pairs_of(neither=10, tasks=10)).difference_interval
    assert found is not None and found.low < -0.1 and found.high == -found.low


def test_more_seeds_do_not_make_more_tasks() -> None:
    once = infer_to_tasks(pairs_of(second_only=4, neither=6, tasks=10)).difference_interval
    thrice = infer_to_tasks(pairs_of(second_only=4, neither=6, tasks=10) * 3).difference_interval
    assert once is not None
    assert thrice is not None
    assert (once.low, once.high) == pytest.approx((thrice.low, thrice.high))


def test_an_attempt_is_limited_when_a_limit_ended_it() -> None:
    assert outcome(an_attempt(passed=10, endings=["task_clock"])).limited
    assert not outcome(an_attempt(passed=1, endings=["response_budget_in_content", "finished"])).limited
    plain = outcome(an_attempt(passed=10))
    assert (plain.success, plain.passed, plain.checks, plain.limited) == (True, 10, 10, False)
    assert count_pairs([]) == PairCounts(0, 0, 0, 0)


def test_the_figures_and_the_verdict_load_without_numpy() -> None:
    code = (
        "import pytest_agentgrade.reporting.verdict_text, sys; sys.exit(not {'numpy', 'scipy'}.isdisjoint(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
