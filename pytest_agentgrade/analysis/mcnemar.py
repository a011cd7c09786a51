"""The exact test on paired successes, and how many pairs it needs."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

ALPHA = 0.05
POWER = 0.8
MOST_PAIRS = 20_000
"""Beyond this an experiment of local attempts is out of reach: searches stop."""


def exact_p(first_only: int, second_only: int) -> float:
    """Two-sided exact conditional McNemar test: are the two kinds of discordant pairs equally likely?

    Fagerland, Lydersen and Laake 2013, "The McNemar test for binary matched-pairs data", section "exact conditional".
    It never exceeds its level, which is why the verdict rests on it and not on the mid-p version.
    """
    discordant = first_only + second_only
    if discordant == 0:
        return 1.0
    return min(1.0, 2 * float(special.bdtr(min(first_only, second_only), discordant, 0.5)))


def mid_p(first_only: int, second_only: int) -> float:
    """The mid-p McNemar test (Fagerland et al. 2013): less conservative, its level not guaranteed; shown beside."""
    discordant = first_only + second_only
    if first_only == second_only:
        return 1.0 - float(_binomial(discordant, 0.5)[first_only]) / 2 if discordant else 1.0
    return exact_p(first_only, second_only) - float(_binomial(discordant, 0.5)[first_only])


def power(pairs: int, first_only: float, second_only: float, alpha: float = ALPHA) -> float:
    """Chance that :func:`exact_p` of ``pairs`` pairs is at most ``alpha``, by summing over all outcomes.

    ``first_only`` and ``second_only`` are the chances of the two kinds of discordant pairs. The number of discordant
    pairs is binomial; given it, so is their split (Fagerland et al. 2013; Duffy 1984).
    """
    discordant = min(1.0, first_only + second_only)
    if discordant == 0:
        return 0.0
    counts = np.arange(pairs + 1)
    most = _critical(pairs, alpha)
    rejects = special.bdtr(np.maximum(most, 0), counts, first_only / discordant)
    rejects += special.bdtr(np.maximum(most, 0), counts, second_only / discordant)
    return float(_binomial(pairs, discordant) @ np.where(most < 0, 0.0, rejects))


def pairs_needed(first_only: float, second_only: float, target: float = POWER, alpha: float = ALPHA) -> int | None:
    """Fewest pairs with a power of ``target``; None when it is more than MOST_PAIRS, or without a difference."""
    if first_only == second_only or power(MOST_PAIRS, first_only, second_only, alpha) < target:
        return None
    high = 8
    while power(high, first_only, second_only, alpha) < target:
        high *= 2
    low = high // 2 if high > 8 else 0
    while high - low > 1:
        middle = (low + high) // 2
        if power(middle, first_only, second_only, alpha) < target:
            low = middle
        else:
            high = middle
    return high


def pairs_for_difference(
    difference: float, discordant: float, target: float = POWER, alpha: float = ALPHA
) -> int | None:
    """Pairs needed to see a ``difference`` of success rates, 0 < difference <= 1, when ``discordant`` pairs differ."""
    return pairs_needed(*split(difference, discordant), target, alpha)


def detectable_difference(
    pairs: int, discordant: float = 0.0, target: float = POWER, alpha: float = ALPHA
) -> float | None:
    """Smallest difference of success rates that ``pairs`` pairs show with a chance of ``target``; None: not even 1.

    ``discordant`` is the share of pairs that differ. The default, no more than the difference itself, is the best
    case: no discordant pair points the other way. What cannot be shown then cannot be shown at all.
    """
    if power(pairs, 0.0, 1.0, alpha) < target:
        return None
    low, high = 0.0, 1.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        if power(pairs, *split(middle, discordant), alpha) < target:
            low = middle
        else:
            high = middle
    return high


def least_significant_difference(pairs: int, alpha: float = ALPHA) -> float | None:
    """Smallest *observed* difference that can be significant at all, all discordant pairs on one side; else None."""
    one_sided = next((count for count in range(1, pairs + 1) if exact_p(0, count) <= alpha), None)
    return None if one_sided is None else one_sided / pairs


def split(difference: float, discordant: float) -> tuple[float, float]:
    """Chances of the two kinds of discordant pairs that make up a difference (in favour of the second mode)."""
    discordant = min(1.0, max(abs(difference), discordant))
    return (discordant - difference) / 2, (discordant + difference) / 2


@lru_cache(maxsize=4)
def _all_critical(alpha: float) -> NDArray[np.int64]:
    """For 0..MOST_PAIRS discordant pairs: the largest smaller count that is significant, -1 where none is."""
    counts = np.arange(MOST_PAIRS + 1)
    guess = np.nan_to_num(np.floor(special.bdtrik(alpha / 2, counts, 0.5)), nan=-1.0)
    best = np.full(counts.shape, -1.0)
    for shift in (-1, 0, 1):
        # The inverse is floating point: its neighbours are tried too.
        candidate = guess + shift
        fits = (candidate >= 0) & (2 * special.bdtr(np.maximum(candidate, 0), counts, 0.5) <= alpha)
        best = np.where(fits, candidate, best)
    return best.astype(np.int64)


def _critical(pairs: int, alpha: float) -> NDArray[np.int64]:
    return _all_critical(alpha)[: pairs + 1]


def _binomial(trials: int, chance: float) -> NDArray[np.float64]:
    """Probabilities of 0..trials successes."""
    counts = np.arange(trials + 1)
    logs = special.xlog1py(trials - counts, -chance) + special.xlogy(counts, chance)
    choices = special.gammaln(trials + 1) - special.gammaln(counts + 1) - special.gammaln(trials - counts + 1)
    return np.asarray(np.exp(choices + logs), dtype=np.float64)
