"""Intervals for small numbers: the exact one, the bounded mean, and the paired difference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special, stats

from pytest_agentgrade.analysis import mcnemar
from pytest_agentgrade.analysis.intervals import bounded_mean, bounded_mean_p, exact_share
from pytest_agentgrade.analysis.success_difference import EXACT_UP_TO, difference_interval, score


@pytest.mark.parametrize(("successes", "trials"), [(0, 8), (8, 8), (3, 8), (17, 40)])
def test_the_exact_interval_is_that_of_scipy(successes: int, trials: int) -> None:
    expected = stats.binomtest(successes, trials).proportion_ci(0.95, method="exact")
    found = exact_share(successes, trials)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize("successes", [0, 1, 4, 8])
def test_for_successes_the_bounded_mean_is_the_exact_interval(successes: int) -> None:
    values = np.array([1.0] * successes + [0.0] * (8 - successes))
    found, exact = bounded_mean(values, 0.0, 1.0), exact_share(successes, 8)
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=0.01)


def test_equal_values_do_not_collapse_the_bounded_mean() -> None:
    found = bounded_mean(np.zeros(8), -1.0, 1.0)
    # Nothing of 8: (1 - 0.025 ** (1/8)) of the way to either bound.
    assert (found.low, found.high) == pytest.approx((-0.369, 0.369), abs=0.01)


def test_the_difference_is_mirrored_when_the_modes_change_places() -> None:
    one, other = difference_interval(2, 7, 20), difference_interval(7, 2, 20)
    assert (one.low, one.high) == (-other.high, -other.low)


def test_the_interval_narrows_with_the_pairs_across_both_methods() -> None:
    widths = [i.high - i.low for i in (difference_interval(n // 10, n // 5, n) for n in (10, 20, 60, 70, 200))]
    assert widths == sorted(widths, reverse=True)
    below, above = difference_interval(6, 12, EXACT_UP_TO), difference_interval(6, 12, EXACT_UP_TO + 1)
    assert (below.low, below.high) == pytest.approx((above.low, above.high), abs=0.03)


@pytest.mark.parametrize(("first", "second", "difference"), [(3, 9, 0.2), (0, 5, 0.1), (7, 2, -0.4), (4, 4, 0.05)])
def test_the_score_statistic_takes_the_most_likely_discordance(first: int, second: int, difference: float) -> None:
    def unlikelihood(p: float) -> float:
        logs = (first, second, 25 - first - second), (p, p + difference, 1 - difference - 2 * p)
        return -float(special.xlogy(*map(np.array, logs)).sum())

    bounds = (max(0.0, -difference), (1 - difference) / 2)
    p = optimize.minimize_scalar(unlikelihood, bounds=bounds, method="bounded", options={"xatol": 1e-10}).x
    expected = (second - first - 25 * difference) / np.sqrt(25 * (2 * p + difference - difference**2))
    found = score(np.array([float(first)]), np.array([float(second)]), 25, difference)
    assert found[0] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("pairs", [6, 9, 14])
def test_interval_and_test_never_contradict_each_other(pairs: int) -> None:
    for first_only in range(pairs + 1):
        for second_only in range(pairs + 1 - first_only):
            significant = mcnemar.exact_p(first_only, second_only) <= 0.05
            assert (0.0 not in difference_interval(first_only, second_only, pairs)) == significant


@pytest.mark.parametrize(("first", "second"), [(0.1, 0.1), (0.05, 0.4), (0.45, 0.5), (0.0, 0.9), (0.3, 0.02)])
def test_eight_pairs_are_covered_whatever_the_truth(first: float, second: float) -> None:
    covered = 0.0
    for b in range(9):
        for c in range(9 - b):
            if second - first in difference_interval(b, c, 8):
                covered += stats.multinomial.pmf([b, c, 8 - b - c], 8, [first, second, 1 - first - second])
    assert covered >= 0.95 - 1e-3


def test_the_p_of_a_bounded_mean_agrees_with_its_interval() -> None:
    for values in ([0.0] * 8, [1.0] * 3, [1.0] * 8, [1.0] * 6 + [0.0] * 4, [1.0] * 12, [-1.0] * 9 + [0.0]):
        found = bounded_mean(np.array(values), -2.0, 2.0)
        assert (bounded_mean_p(np.array(values), -2.0, 2.0) > 0.05) == (0.0 in found), values
    mirrored = [bounded_mean_p(np.array([sign] * 8), -2.0, 2.0) for sign in (1.0, -1.0)]
    assert mirrored[0] == mirrored[1] < bounded_mean_p(np.array([1.0] * 7), -2.0, 2.0)
