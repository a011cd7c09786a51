"""Intervals that hold for a handful of attempts: exact for shares, and for means of bounded values."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pytest_agentgrade.analysis.figures import Interval

LEVEL = 0.95
"""Confidence level of every interval."""
Floats = NDArray[np.float64]

_DRAWS = 10_000
_SEED = 20261002


def exact_share(successes: int, trials: int, level: float = LEVEL) -> Interval:
    """Interval of a success rate. Clopper and Pearson 1934: it covers at least ``level`` for any rate.

    Over tasks of unequal difficulty the count of successes varies *less* than a binomial count of the same mean
    (Hoeffding 1956), so that stratification makes the interval conservative, never too short.
    """
    tail = (1 - level) / 2
    low = float(special.betaincinv(successes, trials - successes + 1, tail)) if successes else 0.0
    high = float(special.betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
    return Interval(low, high, "exact (Clopper-Pearson)")


def bounded_mean(values: Floats, low: float, high: float, level: float = LEVEL) -> Interval:
    """Interval of the mean of values that cannot leave [``low``, ``high``]; see :func:`bounded_mean_limits`."""
    limits = bounded_mean_limits(values[np.newaxis], np.array([low]), np.array([high]), level)
    return Interval(float(limits[0, 0]), float(limits[0, 1]), "bounded mean (Gaffke)")


def bounded_mean_limits(values: Floats, low: Floats, high: Floats, level: float = LEVEL, draws: int = _DRAWS) -> Floats:
    """Lower and upper limits, shape (m, 2), for m samples of n values (m, n), each within its [low, high] (m,).

    Gaffke's bound (Gaffke 2005; Learned-Miller and Thomas 2020): the upper limit is a quantile of the mean of the
    values *and one more at the highest possible value*, weighted by a flat Dirichlet distribution; the lower limit
    alike with one at the lowest. For successes and failures it is the Clopper-Pearson interval. It needs no
    distribution, and when all values are the same it does not collapse, as a t interval or a bootstrap would.
    Its coverage is proved for some cases and without a known counterexample for the others.
    """
    weights = _dirichlet(values.shape[1] + 1, draws)
    tail = (1 - level) / 2
    lowest = np.concatenate([values, low[:, np.newaxis]], axis=1) @ weights
    highest = np.concatenate([values, high[:, np.newaxis]], axis=1) @ weights
    return np.stack([np.quantile(lowest, tail, axis=1), np.quantile(highest, 1 - tail, axis=1)], axis=1)


def bounded_mean_p(values: Floats, low: float, high: float, at: float = 0.0) -> float:
    """Two-sided p-value of a mean of ``at``: one less the level at which :func:`bounded_mean` begins to hold it."""
    weights = _dirichlet(len(values) + 1, _DRAWS)
    below = int((np.append(values, low) @ weights <= at).sum())
    above = int((np.append(values, high) @ weights >= at).sum())
    return min(1.0, 2 * (min(below, above) + 1) / (_DRAWS + 1))


@lru_cache(maxsize=16)
def _dirichlet(size: int, draws: int) -> Floats:
    """Flat Dirichlet weights, shape (size, draws); the same in every process, so that reports are reproducible."""
    exponential = np.random.default_rng(_SEED).standard_exponential((size, draws))
    return np.asarray(exponential / exponential.sum(axis=0), dtype=np.float64)
