"""Every comparison an experiment holds: the first mode against each other one, at each response budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from pytest_agentgrade.analysis.comparison import compare, correct
from pytest_agentgrade.analysis.experiment import Cell, Experiment, ModePairs, cell_of
from pytest_agentgrade.analysis.figures import Comparison, Disagreement, Interval, KindOfWork, NoiseFloor
from pytest_agentgrade.analysis.holm import holm
from pytest_agentgrade.analysis.intervals import bounded_mean, bounded_mean_p
from pytest_agentgrade.analysis.mcnemar import ALPHA
from pytest_agentgrade.analysis.noise import (
    Determinism,
    determinism,
    noise_floor,
    placebo_disagreement,
    repeats_disagreement,
)
from pytest_agentgrade.analysis.pair_conditions import Recorded
from pytest_agentgrade.analysis.paired import ModeAttempts, outcome
from pytest_agentgrade.analysis.pairs import ProofStatus, prove_pair
from pytest_agentgrade.analysis.summary import summarise


@dataclass(frozen=True)
class Contrast:
    """Two modes at one response budget: their pairs, and what they show."""

    pairs: ModePairs
    comparison: Comparison | None
    """None without a usable pair."""
    work: KindOfWork | None
    noise: tuple[NoiseFloor, ...] = ()
    """What these pairs would show of noise alone, by each measure of noise that the experiment holds."""

    @property
    def floor(self) -> NoiseFloor | None:
        """The highest of these, which an observed difference has to exceed."""
        return max(self.noise, key=lambda one: one.floor, default=None)


@dataclass(frozen=True)
class TwinTest:
    """Attempts of one mode at the same cells, made twice."""

    mode: str
    again_as: str
    """The name it had the second time; most often the same."""
    result: Determinism | None
    """None when none was made twice under the same conditions."""
    other_conditions: int
    """Made again, but not under the same conditions: no test of anything."""
    differing: tuple[str, ...]
    """What was not the same there."""


@dataclass(frozen=True)
class BudgetChange:
    """Does the gap between two modes stay when both get a larger response budget?"""

    first_mode: str
    second_mode: str
    budgets: tuple[int, int]
    cells: int
    """Cells (task, seed, repeat) that have a usable pair at both budgets."""
    gaps: tuple[float, float]
    """Difference of success rates at each budget over these cells, second mode minus first."""
    change_interval: Interval
    """95 %, of the second gap minus the first."""
    p: float
    """Of no change, by the same method."""
    p_adjusted: float
    """After Holm over all changes of gaps that are reported; what is said rests on this one."""
    comparisons: int = 1
    """Number of changes that Holm's correction is over."""

    @property
    def change(self) -> float:
        """The second gap minus the first."""
        return self.gaps[1] - self.gaps[0]

    @property
    def shown(self) -> bool:
        """Whether these cells show that the budget changes the gap."""
        return self.p_adjusted <= ALPHA and 0.0 not in self.change_interval


def contrasts(experiment: Experiment) -> tuple[Contrast, ...]:
    """The first contender against each other one, at each budget; p-values corrected over all of them."""
    first, *others = experiment.contenders or ("",)
    found = [_contrast(experiment, first, other, budget) for other in others for budget in experiment.budgets]
    corrected = iter(correct([one.comparison for one in found if one.comparison is not None]))
    return tuple(
        one if one.comparison is None else _with_noise(experiment, replace(one, comparison=next(corrected)))
        for one in found
    )


def placebo_contrasts(experiment: Experiment) -> tuple[Contrast, ...]:
    """Each mode against its placebo, at each budget: no claims, so nothing to correct."""
    return tuple(
        _contrast(experiment, mode, placebo, budget)
        for placebo, mode in experiment.placebos.items()
        for budget in experiment.budgets
    )


def repeats_of(experiment: Experiment, modes: Sequence[str], budget: int) -> Disagreement | None:
    """How often attempts of one of these modes at the same task disagree, their seeds apart."""
    return repeats_disagreement([mode_attempts(experiment, mode, budget) for mode in modes])


def budget_changes(found: Sequence[Contrast]) -> tuple[BudgetChange, ...]:
    """For each two modes: every larger budget against the smallest one, over cells with a usable pair at both.

    Several modes or budgets are several chances to see a change where there is none: corrected as the comparisons are.
    """
    by_modes: dict[tuple[str, str], list[ModePairs]] = {}
    for contrast in found:
        pairs = contrast.pairs
        by_modes.setdefault((pairs.first_mode, pairs.second_mode), []).append(pairs)
    tried = [_change(smallest, larger) for smallest, *more in by_modes.values() for larger in more]
    changes = [change for change in tried if change is not None]
    adjusted = holm([change.p for change in changes])
    return tuple(
        replace(change, p_adjusted=p, comparisons=len(changes)) for change, p in zip(changes, adjusted, strict=True)
    )


def mode_attempts(experiment: Experiment, mode: str, budget: int) -> ModeAttempts:
    """The counted attempts of a mode at a budget, for the statistics.

    Always in the same order: intervals made of random draws must not depend on how the records were stored.
    """
    counted = sorted(experiment.counted(mode, budget), key=lambda one: cell_of(one.record.key))
    return ModeAttempts(mode, tuple((one.record.key.task, outcome(one.record)) for one in counted))


def twin_tests(experiment: Experiment) -> tuple[TwinTest, ...]:
    """Attempts that were made twice, mode by mode; submissions made elsewhere test nothing and are left out."""
    groups: dict[tuple[str, str], list[tuple[Recorded, Recorded]]] = {}
    for one, other in experiment.twins:
        if not {_origin(one), _origin(other)} & {"patch"}:
            groups.setdefault((one.record.key.mode, other.record.key.mode), []).append((one, other))
    return tuple(_twin_test(mode, again_as, twins) for (mode, again_as), twins in groups.items())


def _twin_test(mode: str, again_as: str, twins: Sequence[tuple[Recorded, Recorded]]) -> TwinTest:
    """Other draws of the checks do not matter to what the agent was asked, every other difference does."""
    same, differing, unlike = [], dict[str, None](), 0
    for one, other in twins:
        differences = [difference.what for difference in prove_pair(one, other).differences]
        if set(differences) <= {"draws"}:
            same.append((outcome(one.record), outcome(other.record)))
        else:
            unlike += 1
            differing.update(dict.fromkeys(differences))
    return TwinTest(mode, again_as, determinism(mode, same) if same else None, unlike, tuple(differing))


def _origin(one: Recorded) -> str:
    return one.record.submission.origin if one.record.submission else ""


def _contrast(experiment: Experiment, first: str, second: str, budget: int) -> Contrast:
    pairs = experiment.pairs(first, second, budget)
    return Contrast(pairs, _comparison(experiment, pairs), _kinds(experiment, pairs))


def _with_noise(experiment: Experiment, contrast: Contrast) -> Contrast:
    """Beside the observed difference: repeats of both modes, and each placebo of one of them."""
    assert contrast.comparison is not None
    pairs, comparison = contrast.pairs, contrast.comparison
    modes = pairs.first_mode, pairs.second_mode
    sources = [repeats_of(experiment, modes, pairs.response_tokens)]
    for placebo, mode in experiment.placebos.items():
        if mode in modes:
            usable = experiment.pairs(mode, placebo, pairs.response_tokens).usable
            sources.append(placebo_disagreement(mode, placebo, [pair.as_pair() for pair in usable]))
    floors = [noise_floor(one, comparison.pairs, comparison.difference) for one in sources if one is not None]
    return replace(contrast, noise=tuple(floors))


def _comparison(experiment: Experiment, pairs: ModePairs) -> Comparison | None:
    if not pairs.usable:
        return None
    sides = [mode_attempts(experiment, mode, pairs.response_tokens) for mode in (pairs.first_mode, pairs.second_mode)]
    return compare(
        sides[0],
        sides[1],
        [pair.as_pair() for pair in sorted(pairs.usable, key=lambda pair: pair.cell)],
        invalid_pairs=len(pairs.with_status(ProofStatus.INVALID)),
        unproven_pairs=len(pairs.with_status(ProofStatus.UNPROVEN)),
        blocked_pairs=len(pairs.blocked),
    )


def _kinds(experiment: Experiment, pairs: ModePairs) -> KindOfWork | None:
    found = {(one.mode, one.response_tokens): one for one in summarise(experiment.records)}
    first, second = (found.get((mode, pairs.response_tokens)) for mode in (pairs.first_mode, pairs.second_mode))
    if first is None or second is None:
        return None
    return KindOfWork(first.speed.short, second.speed.short, first.tokens_per_second, second.tokens_per_second)


def _change(smallest: ModePairs, larger: ModePairs) -> BudgetChange | None:
    gaps = [_gaps(smallest), _gaps(larger)]
    cells = sorted(gaps[0].keys() & gaps[1].keys())
    if not cells:
        return None
    before, after = ([gap[cell] for cell in cells] for gap in gaps)
    changes = np.array([two - one for one, two in zip(before, after, strict=True)])
    p = bounded_mean_p(changes, -2.0, 2.0)
    return BudgetChange(
        first_mode=smallest.first_mode,
        second_mode=smallest.second_mode,
        budgets=(smallest.response_tokens, larger.response_tokens),
        cells=len(cells),
        gaps=(fmean(before), fmean(after)),
        change_interval=bounded_mean(changes, -2.0, 2.0),
        p=p,
        p_adjusted=p,
    )


def _gaps(pairs: ModePairs) -> dict[Cell, float]:
    """Success of the second mode minus that of the first, by cell without its budget."""
    return {
        pair.cell._replace(response_tokens=0): float(pair.second.record.delivers - pair.first.record.delivers)
        for pair in pairs.usable
    }
