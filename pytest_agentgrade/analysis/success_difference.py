"""The paired difference of success rates, with an interval that is honest for a handful of pairs."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import special

from pytest_agentgrade.analysis.figures import Interval
from pytest_agentgrade.analysis.intervals import LEVEL, Floats
from pytest_agentgrade.analysis.mcnemar import exact_p

EXACT_UP_TO = 60
"""Pairs up to which the exact interval is computed; above, the score interval it is built on."""

_NUISANCE = 81
_STEPS = 14


class _Table(NamedTuple):
    """All outcomes of ``pairs`` pairs: how many second-only and first-only ones, and log of the multinomial factor."""

    second_only: Floats
    first_only: Floats
    log_choices: Floats


def difference_interval(first_only: int, second_only: int, pairs: int, level: float = LEVEL) -> Interval:
    """Interval of (success rate of the second mode) - (of the first), -1..1, from the discordant pairs.

    Up to EXACT_UP_TO pairs exact and unconditional: the differences not rejected by the score test (Tango 1998), its
    tail summed over all outcomes and maximised over the unknown share of discordant pairs (Fagerland, Lydersen and
    Laake 2014; Agresti and Min 2001). Above that Tango's score interval itself. Zero is always kept while the exact
    conditional McNemar test does not reject it, so that interval and verdict never contradict each other.

    Pairs are pooled over tasks: when the difference varies from task to task, the variance assumed here is too
    large (a mean of squares is no less than the square of the mean), hence the interval conservative for *these* tasks.
    """
    low, high = _interval(first_only, second_only, pairs, level)
    if exact_p(first_only, second_only) > 1 - level:
        low, high = min(low, 0.0), max(high, 0.0)
    return Interval(low, high, "exact unconditional" if pairs <= EXACT_UP_TO else "score (Tango)")


@lru_cache(maxsize=4096)
def _interval(first_only: int, second_only: int, pairs: int, level: float) -> tuple[float, float]:
    high = _limit(first_only, second_only, pairs, 1 - level)
    return -_limit(second_only, first_only, pairs, 1 - level), high


def _limit(first_only: int, second_only: int, pairs: int, alpha: float) -> float:
    """Upper limit by bisection: the estimate itself is never rejected."""
    kept = (second_only - first_only) / pairs
    rejected = 1.0
    if _p_value(first_only, second_only, pairs, rejected) > alpha:
        return 1.0
    for _ in range(_STEPS):
        middle = (kept + rejected) / 2
        if _p_value(first_only, second_only, pairs, middle) > alpha:
            kept = middle
        else:
            rejected = middle
    return rejected


def _p_value(first_only: int, second_only: int, pairs: int, difference: float) -> float:
    here = score(np.array([float(first_only)]), np.array([float(second_only)]), pairs, difference)[0]
    if pairs > EXACT_UP_TO:
        return float(2 * special.ndtr(-abs(here)))
    table = _table(pairs)
    scores = score(table.first_only, table.second_only, pairs, difference)
    as_far = np.abs(scores) >= abs(here) - 1e-9
    return float(_chances(table, as_far, pairs, difference).max())


def _chances(
    table: _Table, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]], pairs: int, difference: float
) -> Floats:
    """Probability of the chosen outcomes for each of a grid of discordant shares, |difference|..1."""
    discordant = np.linspace(abs(difference), 1.0, _NUISANCE)[:, np.newaxis]
    second, first = table.second_only[chosen], table.first_only[chosen]
    logs = special.xlogy(second, np.maximum((discordant + difference) / 2, 0.0))
    logs += special.xlogy(first, np.maximum((discordant - difference) / 2, 0.0))
    logs += special.xlogy(pairs - second - first, np.maximum(1.0 - discordant, 0.0))
    return np.asarray(np.exp(logs + table.log_choices[chosen]).sum(axis=1), dtype=np.float64)


def score(first_only: Floats, second_only: Floats, pairs: int, difference: float) -> Floats:
    """Tango's score statistic of a true ``difference``: about standard normal if it is true.

    Tango 1998, "Equivalence test and confidence interval for the difference in proportions for the paired-sample
    design", with the restricted maximum likelihood estimate of the first-only chance in closed form.
    """
    linear = -first_only - second_only + (2 * pairs - second_only + first_only) * difference
    constant = -first_only * difference * (1 - difference)
    root = np.sqrt(np.maximum(linear**2 - 8 * pairs * constant, 0.0))
    restricted = np.maximum((root - linear) / (4 * pairs), 0.0)
    variance = pairs * (2 * restricted + difference * (1 - difference))
    distance = second_only - first_only - pairs * difference
    # Without variance any distance is infinitely far; one that is rounding error is none.
    distance = np.where(np.abs(distance) < 1e-9, 0.0, distance)
    return np.asarray(distance / np.sqrt(np.maximum(variance, 1e-300)), dtype=np.float64)


@lru_cache(maxsize=8)
def _table(pairs: int) -> _Table:
    counts = np.arange(pairs + 1, dtype=np.float64)
    second, first = (grid.ravel() for grid in np.meshgrid(counts, counts))
    possible = second + first <= pairs
    second, first = second[possible], first[possible]
    logs = special.gammaln(pairs + 1) - special.gammaln(second + 1) - special.gammaln(first + 1)
    return _Table(second, first, logs - special.gammaln(pairs - second - first + 1))
