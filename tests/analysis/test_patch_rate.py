"""Working patches per hour and their paired intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pytest_agentgrade.analysis.patch_rate import (
    compare_rates,
    patches_per_hour,
    patches_per_hour_interval,
    rate_difference_p,
)
from tests.analysis.pairs_made_here import a_pair, an_outcome, pairs_of


def test_all_attempts_count_in_the_hours() -> None:
    assert patches_per_hour([an_outcome(10, 300.0), an_outcome(1, 900.0)]) == 3.0
    assert patches_per_hour([an_outcome(10, None)]) is None


def test_without_a_patch_the_interval_is_that_of_no_success_in_so_many() -> None:
    found = patches_per_hour_interval([an_outcome(1, 360.0)] * 8)
    assert found is not None
    assert found.low == 0.0
    assert found.high == pytest.approx(10 * 0.369, rel=0.03)


def test_two_pairs_get_figures_but_no_interval() -> None:
    found = compare_rates(pairs_of(second_only=2))
    assert found is not None
    assert (found.first, found.second) == (0.0, 36.0)
    assert found.ratio is None
    assert (found.difference_interval, found.ratio_interval) == (None, None)


def test_the_intervals_of_difference_and_ratio_agree_on_no_difference() -> None:
    for slower in (1.0, 1.3, 1.6, 2.5):
        pairs = [a_pair(an_outcome(10, 200.0 * slower + n), an_outcome(10, 200.0 + n), seed=n) for n in range(20)]
        found = compare_rates(pairs)
        assert found is not None
        assert found.difference_interval is not None
        assert found.ratio_interval is not None
        assert (0.0 in found.difference_interval) == (1.0 in found.ratio_interval)
        assert found.ratio is not None
        assert found.ratio == pytest.approx(slower, rel=0.05)
        assert found.ratio in found.ratio_interval


def test_against_nothing_delivered_the_ratio_has_a_lower_limit_only() -> None:
    some, many = compare_rates(pairs_of(second_only=2, neither=6)), compare_rates(pairs_of(second_only=18, neither=2))
    assert some is not None
    assert many is not None
    assert some.ratio is many.ratio is None
    assert some.ratio_interval is not None
    assert many.ratio_interval is not None
    assert 0 < some.ratio_interval.low < 1 < some.ratio_interval.high == math.inf
    assert 1 < many.ratio_interval.low < many.ratio_interval.high == math.inf
    assert many.difference_interval is not None
    assert many.difference_interval.low > 0


def test_one_patch_against_a_few_leaves_the_ratio_wide() -> None:
    found = compare_rates(pairs_of(first_only=1, second_only=3, neither=20))
    assert found is not None
    assert found.ratio == pytest.approx(3.0)
    assert found.ratio_interval is not None
    assert found.ratio_interval.low < 1 < 50 < found.ratio_interval.high < math.inf


def test_the_permutation_test_is_exact_for_few_pairs() -> None:
    ones, zeros, clock = np.ones((1, 6)), np.zeros((1, 6)), np.full((1, 6), 60.0)
    assert rate_difference_p(zeros, clock, ones, clock)[0] == 2 / 2**6
    assert rate_difference_p(ones, clock, ones, clock)[0] == 1.0


def test_a_clock_of_zero_is_no_clock() -> None:
    pairs = [a_pair(an_outcome(10, 0.0), an_outcome(1, 5.0)), a_pair(an_outcome(1, 5.0), an_outcome(1, 0.0))]
    assert compare_rates(pairs * 2) is None
