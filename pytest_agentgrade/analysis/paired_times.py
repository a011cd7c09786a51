"""Were the attempts of one mode quicker? Times of attempts that a limit ended are lower bounds, and used as such."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_agentgrade.analysis.figures import TimeFigures
from pytest_agentgrade.analysis.intervals import Floats
from pytest_agentgrade.analysis.paired import Pair, by_task
from pytest_agentgrade.analysis.sign_flips import sign_flip_p


def compare_times(pairs: Sequence[Pair]) -> TimeFigures | None:
    """Paired Prentice-Wilcoxon test on task clocks, stratified by task; None where a clock is missing.

    O'Brien and Fleming 1987, "A paired Prentice-Wilcoxon test for censored paired data": each attempt gets a score
    from the survival curve of its task, the differences of scores within pairs are summed. Here the p-value is that
    of the sign-flip permutation of pairs, exact for few of them.
    """
    timed = [pair for pair in pairs if pair.first.seconds is not None and pair.second.seconds is not None]
    if not timed or len(timed) < len(pairs):
        return None
    differences = np.concatenate([_score_differences(group) for group in _groups(timed)])
    ratios = [_log_ratio(pair) for pair in timed if not (pair.first.limited or pair.second.limited)]
    return TimeFigures(
        pairs=len(timed),
        limited_first=sum(pair.first.limited for pair in timed),
        limited_second=sum(pair.second.limited for pair in timed),
        p=float(sign_flip_p(differences[np.newaxis])[0]),
        tends_to=float(np.sign(round(differences.sum(), 9))),
        unlimited_pairs=len(ratios),
        ratio=math.exp(sum(ratios) / len(ratios)) if ratios else None,
    )


def prentice_scores(seconds: Floats, limited: NDArray[np.bool_]) -> Floats:
    """Scores in (-1, 1), larger for longer times (Prentice 1978, the censored Wilcoxon scores).

    With S the survival estimate prod (n - d + 1)/(n + 1) over the times at which attempts ended by themselves:
    1 - 2 S for those, and 1 - S for the ones that a limit ended at or after that time.
    """
    ended = np.unique(seconds[~limited])
    at_risk = (seconds[:, np.newaxis] >= ended).sum(axis=0)
    deaths = (seconds[~limited][:, np.newaxis] == ended).sum(axis=0)
    survival = np.concatenate([[1.0], np.cumprod((at_risk - deaths + 1) / (at_risk + 1))])
    reached = survival[np.searchsorted(ended, seconds, side="right")]
    return np.where(limited, 1.0 - reached, 1.0 - 2.0 * reached)


def _score_differences(pairs: Sequence[Pair]) -> Floats:
    outcomes = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    seconds = np.array([float(one.seconds or 0.0) for one in outcomes])
    scores = prentice_scores(seconds, np.array([one.limited for one in outcomes]))
    return np.asarray(scores[len(pairs) :] - scores[: len(pairs)], dtype=np.float64)


def _groups(pairs: Sequence[Pair]) -> list[Sequence[Pair]]:
    return list(by_task((pair.task, pair) for pair in pairs).values())


def _log_ratio(pair: Pair) -> float:
    return math.log(max(pair.second.seconds or 0.0, 1e-3) / max(pair.first.seconds or 0.0, 1e-3))
