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
    assert found.difference_interval is found.ratio_interval is found.ratio is None


def test_the_intervals_of_difference_and_ratio_agree_on_no_difference() -> None:
    for slower in (1.0, 1.3, 1.6, 2.5):
        pairs = [a_pair(an_outcome(10, 200.0 * slower + n), an_outcome(10, 200.0 + n), seed=n) for n in range(20)]
        found = compare_rates(pairs)
        assert found is not None
        assert found.difference_interval is not None
        assert found.ratio_interval is not None
        assert (0.0 in found.difference_interval) == (1.0 in found.ratio_interval)
        assert found.ratio == pytest.approx(slower, rel=0.05)
        assert found.ratio in found.ratio_interval


def test_a_ratio_beyond_a_thousand_is_left_open() -> None:
    found = compare_rates(pairs_of(first_only=1, second_only=16, neither=183))
    assert found is not None
    assert found.ratio == pytest.approx(16.0)
    assert found.ratio_interval is not None
    assert found.ratio_interval.low > 1
    assert math.isinf(found.ratio_interval.high) or found.ratio_interval.high > 100


def test_the_permutation_test_is_exact_for_few_pairs() -> None:
    ones, zeros, clock = np.ones((1, 6)), np.zeros((1, 6)), np.full((1, 6), 60.0)
    assert rate_difference_p(zeros, clock, ones, clock)[0] == 2 / 2**6
    assert rate_difference_p(ones, clock, ones, clock)[0] == 1.0
