"""Working patches per hour: the measure that matters, with paired intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pytest_agentgrade.analysis.figures import Interval, RateFigures
from pytest_agentgrade.analysis.intervals import LEVEL, Floats, bounded_mean, bounded_mean_limits
from pytest_agentgrade.analysis.paired import Outcome, Pair
from pytest_agentgrade.analysis.sign_flips import BITS, flips, share_as_far

HOUR = 3600.0
FEWEST_PAIRS = 3
"""With fewer pairs an interval would span everything conceivable."""

_SCALES = tuple(2.0**step for step in range(-12, 18))
"""Ratios tried to bracket a limit."""
_METHOD = "linearised ratio, bounded mean (Gaffke)"


def patches_per_hour(outcomes: Sequence[Outcome]) -> float | None:
    """3600 x submissions that pass all ten / sum of the task clocks of *all* attempts; None without clocks."""
    clocks = [one.seconds for one in outcomes]
    total = sum(clock for clock in clocks if clock is not None)
    return None if None in clocks or not total else HOUR * sum(one.success for one in outcomes) / total


def patches_per_hour_interval(outcomes: Sequence[Outcome]) -> Interval | None:
    """Interval of :func:`patches_per_hour` for these tasks; None without clocks or with too few attempts."""
    rate = patches_per_hour(outcomes)
    if rate is None or len(outcomes) < FEWEST_PAIRS:
        return None
    parts, low, high = contributions(*_columns(outcomes))
    around = bounded_mean(parts[0], float(low[0]), float(high[0]))
    return Interval(max(0.0, rate + around.low), rate + around.high, _METHOD)


def compare_rates(pairs: Sequence[Pair]) -> RateFigures | None:
    """Patches per hour of both modes on the same pairs, and their difference; None where a clock is missing, or 0."""
    firsts, seconds = [pair.first for pair in pairs], [pair.second for pair in pairs]
    if not all(one.seconds for one in (*firsts, *seconds)):
        return None
    first, second = patches_per_hour(firsts), patches_per_hour(seconds)
    if first is None or second is None:
        return None
    columns = (*_columns(firsts), *_columns(seconds))
    enough = len(pairs) >= FEWEST_PAIRS
    limits = rate_difference_limits(*columns)[0] if enough else None
    p = float(rate_difference_p(*columns)[0])
    return RateFigures(
        first=first,
        second=second,
        difference=second - first,
        difference_interval=None if limits is None else Interval(float(limits[0]), float(limits[1]), _METHOD),
        ratio=second / first if first else None,
        ratio_interval=ratio_interval(*columns) if enough else None,
        p=p,
        p_adjusted=p,
    )


def contributions(success: Floats, seconds: Floats) -> tuple[Floats, Floats, Floats]:
    """What each attempt adds to its mode's patches per hour beyond the mean: (m, n), and its bounds (m,), (m,).

    The ratio estimator linearised, 3600 (success - rate x seconds) / mean seconds (Cochran 1977, section 6.3). A task
    clock lies between 0 and the longest one seen, a success between 0 and 1: that bounds each contribution.
    """
    mean = seconds.mean(axis=1, keepdims=True)
    rate = success.mean(axis=1, keepdims=True) / mean
    longest = seconds.max(axis=1, keepdims=True)
    parts = HOUR * (success - rate * seconds) / mean
    return parts, -HOUR * (rate * longest / mean)[:, 0], HOUR / mean[:, 0]


def rate_difference_limits(
    first_success: Floats, first_seconds: Floats, second_success: Floats, second_seconds: Floats,
    level: float = LEVEL, draws: int = 10_000,
) -> Floats:  # fmt: skip
    """Limits (m, 2) of (patches per hour of the second mode) - (of the first) of m experiments of n pairs (m, n).

    The contributions of the two attempts of a pair are subtracted, which is what makes it paired; their mean gets the
    interval of a bounded mean, which holds for few pairs and does not collapse when no pair differs.
    """
    one, one_low, one_high = contributions(first_success, first_seconds)
    two, two_low, two_high = contributions(second_success, second_seconds)
    around = bounded_mean_limits(two - one, two_low - one_high, two_high - one_low, level, draws)
    difference = _rates(second_success, second_seconds) - _rates(first_success, first_seconds)
    return around + difference[:, np.newaxis]


def ratio_interval(
    first_success: Floats, first_seconds: Floats, second_success: Floats, second_seconds: Floats
) -> Interval:
    """Interval of the ratio of patches per hour, second to first, of one experiment of n pairs; columns (1, n).

    Fieller 1954: a ratio r is kept when an interval of (second rate) - r x (first rate) holds zero; so it leaves out
    1 exactly when the interval of the difference leaves out 0. When the first mode delivered nothing, there is
    no upper limit.
    """
    one, two = contributions(first_success, first_seconds), contributions(second_success, second_seconds)
    rates = float(_rates(first_success, first_seconds)[0]), float(_rates(second_success, second_seconds)[0])

    def kept(ratio: float) -> bool:
        parts, low, high = (ratio * part for part in one)
        around = bounded_mean_limits(two[0] - parts, two[1] - high, two[2] - low)[0]
        return bool(around[0] <= ratio * rates[0] - rates[1] <= around[1])

    within = rates[1] / rates[0] if rates[0] else next(filter(kept, _SCALES), _SCALES[-1])
    low = 0.0 if kept(0.0) else _edge(kept, within, 0.0)
    beyond = next((scale for scale in _SCALES if scale > within and not kept(scale)), None)
    return Interval(low, math.inf if beyond is None else _edge(kept, within, beyond), _METHOD)


def _edge(kept: Callable[[float], bool], inside: float, outside: float) -> float:
    for _ in range(14):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if kept(middle) else (inside, middle)
    return outside


def rate_difference_p(
    first_success: Floats, first_seconds: Floats, second_success: Floats, second_seconds: Floats, bits: int = BITS
) -> Floats:
    """Permutation p-values (m,) of the difference of patches per hour: labels exchanged within pairs (m, n)."""
    signs = flips(first_success.shape[1], bits).T
    success = (first_success + second_success).sum(axis=1, keepdims=True)
    seconds = (first_seconds + second_seconds).sum(axis=1, keepdims=True)
    more_success = (second_success - first_success) @ signs
    more_seconds = (second_seconds - first_seconds) @ signs
    second = (success + more_success) / (seconds + more_seconds)
    return share_as_far(second - (success - more_success) / (seconds - more_seconds))


def _rates(success: Floats, seconds: Floats) -> Floats:
    return np.asarray(HOUR * success.sum(axis=1) / seconds.sum(axis=1), dtype=np.float64)


def _columns(outcomes: Sequence[Outcome]) -> tuple[Floats, Floats]:
    """Successes and clocks of one experiment, each of shape (1, n)."""
    success = np.array([[float(one.success) for one in outcomes]])
    return success, np.array([[float(one.seconds or 0.0) for one in outcomes]])
