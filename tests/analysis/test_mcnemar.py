"""The exact McNemar test and its power, against figures from elsewhere and by enumeration."""

from __future__ import annotations

from itertools import product
from math import comb

import pytest
from scipy import stats

from pytest_agentgrade.analysis import mcnemar


def test_the_example_of_fagerland_lydersen_and_laake() -> None:
    # Airway hyper-responsiveness before and after stem cell transplantation: 1 and 7 discordant of 21 pairs.
    assert mcnemar.exact_p(1, 7) == pytest.approx(0.0703, abs=5e-5)
    assert mcnemar.mid_p(1, 7) == pytest.approx(0.0391, abs=5e-5)


@pytest.mark.parametrize(("first_only", "second_only"), [(0, 1), (1, 0), (3, 3), (2, 9), (30, 12)])
def test_the_p_value_is_the_binomial_test_of_scipy(first_only: int, second_only: int) -> None:
    expected = stats.binomtest(first_only, first_only + second_only).pvalue
    assert mcnemar.exact_p(first_only, second_only) == pytest.approx(expected, rel=1e-9)


def test_without_a_discordant_pair_nothing_is_shown() -> None:
    assert mcnemar.exact_p(0, 0) == mcnemar.mid_p(0, 0) == 1.0


@pytest.mark.parametrize(("pairs", "first", "second"), [(6, 0.1, 0.6), (9, 0.2, 0.5), (12, 0.3, 0.3), (8, 0.0, 1.0)])
def test_power_is_the_sum_over_all_outcomes(pairs: int, first: float, second: float) -> None:
    rejected = 0.0
    for b, c in product(range(pairs + 1), repeat=2):
        if b + c <= pairs and mcnemar.exact_p(b, c) <= 0.05:
            ways = comb(pairs, b) * comb(pairs - b, c)
            rejected += ways * first**b * second**c * (1 - first - second) ** (pairs - b - c)
    assert mcnemar.power(pairs, first, second) == pytest.approx(rejected, abs=1e-9)


@pytest.mark.parametrize("pairs", [5, 8, 20, 80, 1000, mcnemar.MOST_PAIRS])
def test_the_test_never_exceeds_its_level(pairs: int) -> None:
    assert all(mcnemar.power(pairs, half, half) <= 0.05 for half in (0.01, 0.1, 0.25, 0.5))


def test_the_critical_values_are_the_largest_significant_ones() -> None:
    for discordant, most in enumerate(mcnemar._critical(300, 0.05)):
        assert most < 0 or mcnemar.exact_p(int(most), discordant - int(most)) <= 0.05
        assert mcnemar.exact_p(int(most) + 1, discordant - int(most) - 1) > 0.05 or discordant == 0


def test_pairs_needed_is_where_the_power_gets_there() -> None:
    needed = mcnemar.pairs_needed(0.05, 0.25)
    assert needed is not None
    assert mcnemar.power(needed, 0.05, 0.25) >= 0.8 > mcnemar.power(needed - 1, 0.05, 0.25)
    assert mcnemar.pairs_needed(0.25, 0.05) == needed
    assert mcnemar.pairs_needed(0.2, 0.2) is None
    assert mcnemar.pairs_needed(0.2, 0.2001) is None


def test_what_eight_pairs_can_show() -> None:
    assert mcnemar.least_significant_difference(8) == 0.75
    detectable = mcnemar.detectable_difference(8)
    assert detectable is not None
    assert mcnemar.power(8, 0.0, detectable) == pytest.approx(0.8, abs=1e-3)
    assert mcnemar.detectable_difference(8, discordant=0.95) > detectable  # type: ignore[operator]
    assert mcnemar.least_significant_difference(5) is None
    assert mcnemar.detectable_difference(5) is None
