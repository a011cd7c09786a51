"""The noise floor: how much attempts differ when nothing that matters was changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean

import numpy as np

from pytest_agentgrade.analysis.figures import Disagreement, NoiseFloor
from pytest_agentgrade.analysis.paired import ModeAttempts, Outcome, Pair, by_task

WITHIN = 0.95
"""How often pairs of nothing but noise stay within the noise floor."""


@dataclass(frozen=True)
class Determinism:
    """The same mode, task and seed twice: a test of the server and the harness, not a sample of anything."""

    mode: str
    twins: int
    told: int
    """Twins of which both submissions are known; a foreign JUnit file tells none."""
    same_submission: int
    """Of those: submitted trees that are the same byte for byte."""
    same_checks: int
    """Twins that pass the same number of checks."""


def repeats_disagreement(modes: Sequence[ModeAttempts]) -> Disagreement | None:
    """From the attempts of one or more modes, each with a seed of its own; None without two of a mode at a task.

    Seeds and repeats alike: both sample anew. All twos of one mode within a task are compared: an unbiased estimate
    of the chance 2 p (1 - p) that two attempts differ.
    """
    groups = [group for one in modes for group in by_task(one.attempts).values() if len(group) > 1]
    twos = [list(combinations(group, 2)) for group in groups]
    return _disagreement("repeats", tuple(one.mode for one in modes), twos, sum(len(group) - 1 for group in groups))


def placebo_disagreement(mode: str, placebo: str, pairs: Sequence[Pair]) -> Disagreement | None:
    """From the pairs of a mode and one that changes numerics only (as ``-ub 256`` against 512); None without pairs."""
    twos = list(by_task((pair.task, (pair.first, pair.second)) for pair in pairs).values())
    return _disagreement("placebo", (mode, placebo), twos, len(pairs))


def noise_floor(source: Disagreement, pairs: int, observed: float) -> NoiseFloor:
    """What ``pairs`` pairs show of noise, beside the difference they do show."""
    return NoiseFloor(source, pairs, difference_within(source.cautious, pairs), observed)


def difference_within(differ: float, pairs: int, share: float = WITHIN) -> float:
    """Smallest d, 0..1, so that |difference| <= d in ``share`` of experiments of ``pairs`` pairs without a cause.

    Of each pair exactly one attempt succeeds with chance ``differ``, either one as likely: the net count is a sum of
    steps -1, 0 and 1, whose distribution is convolved exactly.
    """
    chances = np.ones(1)
    for _ in range(pairs):
        chances = np.convolve(chances, [differ / 2, 1 - differ, differ / 2])
    inside = chances[pairs]
    for net in range(pairs):
        if inside >= share - 1e-12:
            return net / pairs
        inside += chances[pairs - net - 1] + chances[pairs + net + 1]
    return 1.0


def determinism(mode: str, twins: Sequence[tuple[Outcome, Outcome]]) -> Determinism:
    """What became of attempts that were run twice with nothing changed at all, sampling seed included."""
    told = [(one.digest, other.digest) for one, other in twins if one.digest is not None and other.digest is not None]
    return Determinism(
        mode,
        twins=len(twins),
        told=len(told),
        same_submission=sum(one == other for one, other in told),
        same_checks=sum(one.passed == other.passed for one, other in twins),
    )


def _disagreement(
    kind: str, modes: tuple[str, ...], twos: Sequence[Sequence[tuple[Outcome, Outcome]]], independent: int
) -> Disagreement | None:
    if not twos:
        return None
    return Disagreement(
        kind=kind,
        modes=modes,
        compared=sum(map(len, twos)),
        independent=independent,
        differ=mean(mean(one.success != other.success for one, other in task) for task in twos),
        check_gap=mean(mean(abs(one.share - other.share) for one, other in task) for task in twos),
    )
