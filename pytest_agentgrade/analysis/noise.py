"""The noise floor: how much attempts differ when nothing that matters was changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean

from pytest_agentgrade.analysis.paired import Outcome, Pair, by_task, count_pairs


@dataclass(frozen=True)
class NoiseFloor:
    """How often two attempts at the same task come out differently without a cause that interests us."""

    what: str
    """``repeats of MODE`` or ``MODE against placebo MODE``."""
    compared: int
    """Number of twos that were compared; repeats of one task share attempts, so they are not independent."""
    differ: float
    """Share of which exactly one succeeds, 0..1, mean over tasks."""
    check_gap: float
    """Mean absolute difference of the shares of checks passed, 0..1, mean over tasks."""


@dataclass(frozen=True)
class Determinism:
    """The same mode, task and seed twice: a test of the server and the harness, not a sample of anything."""

    mode: str
    twins: int
    same_submission: int
    """Twins whose submitted trees are the same byte for byte."""
    same_checks: int
    """Twins that pass the same number of checks."""


def repeats_floor(mode: str, attempts: Sequence[tuple[str, Outcome]]) -> NoiseFloor | None:
    """From (task, outcome) of one mode's seeds and repeats, each with its own sampling seed; None without repeats.

    All twos within a task are compared: an unbiased estimate of the chance 2 p (1 - p) that two attempts differ.
    """
    twos = [list(combinations(outcomes, 2)) for outcomes in by_task(attempts).values() if len(outcomes) > 1]
    return _floor(f"repeats of {mode}", twos)


def placebo_floor(mode: str, placebo: str, pairs: Sequence[Pair]) -> NoiseFloor | None:
    """From the pairs of a mode and one that changes numerics only (as ``-ub 256`` against 512); None without pairs.

    A mode that differs from its baseline no more often than the placebo does has shown nothing.
    """
    twos = by_task((pair.task, (pair.first, pair.second)) for pair in pairs)
    return _floor(f"{mode} against placebo {placebo}", list(twos.values()))


def determinism(mode: str, twins: Sequence[tuple[Outcome, Outcome]]) -> Determinism:
    """What became of attempts that were run twice with nothing changed at all, sampling seed included."""
    same = [one.digest is not None and one.digest == other.digest for one, other in twins]
    return Determinism(mode, len(twins), sum(same), sum(one.passed == other.passed for one, other in twins))


def differs_more_than(pairs: Sequence[Pair], floor: NoiseFloor) -> bool:
    """Do the modes of these pairs disagree more often than the floor does? Descriptive, not a test."""
    counts = count_pairs(pairs)
    return counts.pairs > 0 and counts.discordant / counts.pairs > floor.differ


def _floor(what: str, twos: Sequence[Sequence[tuple[Outcome, Outcome]]]) -> NoiseFloor | None:
    if not twos:
        return None
    return NoiseFloor(
        what=what,
        compared=sum(map(len, twos)),
        differ=mean(mean(one.success != other.success for one, other in task) for task in twos),
        check_gap=mean(mean(abs(one.share - other.share) for one, other in task) for task in twos),
    )
