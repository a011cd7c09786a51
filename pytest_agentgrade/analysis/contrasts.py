"""Every comparison an experiment holds: the first mode against each other one, at each response budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from pytest_agentgrade.analysis.comparison import ModeAttempts, compare, correct
from pytest_agentgrade.analysis.experiment import Cell, Experiment, ModePairs, cell_of
from pytest_agentgrade.analysis.figures import Comparison, Interval, KindOfWork
from pytest_agentgrade.analysis.intervals import bounded_mean
from pytest_agentgrade.analysis.noise import Determinism, determinism
from pytest_agentgrade.analysis.paired import Outcome, outcome
from pytest_agentgrade.analysis.pairs import ProofStatus, prove_pair
from pytest_agentgrade.analysis.summary import summarise


@dataclass(frozen=True)
class Contrast:
    """Two modes at one response budget: their pairs, and what they show."""

    pairs: ModePairs
    comparison: Comparison | None
    """None without a usable pair."""
    work: KindOfWork | None


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

    @property
    def change(self) -> float:
        """The second gap minus the first."""
        return self.gaps[1] - self.gaps[0]

    @property
    def shown(self) -> bool:
        """Whether these cells show that the budget changes the gap."""
        return 0.0 not in self.change_interval


def contrasts(experiment: Experiment) -> tuple[Contrast, ...]:
    """The first mode against each other one, at each budget; p-values corrected over all of them."""
    first, *others = experiment.modes or ("",)
    pairs = [experiment.pairs(first, other, budget) for other in others for budget in experiment.budgets]
    found = [_comparison(experiment, one) for one in pairs]
    corrected = iter(correct([one for one in found if one is not None]))
    return tuple(
        Contrast(one, None if comparison is None else next(corrected), _kinds(experiment, one))
        for one, comparison in zip(pairs, found, strict=True)
    )


def budget_changes(found: Sequence[Contrast]) -> tuple[BudgetChange, ...]:
    """For each two modes: every larger budget against the smallest one, over cells with a usable pair at both."""
    by_modes: dict[tuple[str, str], list[ModePairs]] = {}
    for contrast in found:
        pairs = contrast.pairs
        by_modes.setdefault((pairs.first_mode, pairs.second_mode), []).append(pairs)
    changes = [_change(smallest, larger) for smallest, *more in by_modes.values() for larger in more]
    return tuple(change for change in changes if change is not None)


def twin_tests(experiment: Experiment) -> tuple[Determinism, ...]:
    """Attempts done twice with nothing changed at all, mode by mode; other draws of the checks do not matter here."""
    same: dict[str, list[tuple[Outcome, Outcome]]] = {}
    for one, other in experiment.twins:
        differences = {difference.what for difference in prove_pair(one, other).differences}
        if differences <= {"draws"}:
            same.setdefault(one.record.key.mode, []).append((outcome(one.record), outcome(other.record)))
    return tuple(determinism(mode, twins) for mode, twins in same.items())


def mode_attempts(experiment: Experiment, mode: str, budget: int) -> ModeAttempts:
    """The counted attempts of a mode at a budget, for the statistics.

    Always in the same order: intervals made of random draws must not depend on how the records were stored.
    """
    counted = sorted(experiment.counted(mode, budget), key=lambda one: cell_of(one.record.key))
    return ModeAttempts(mode, tuple((one.record.key.task, outcome(one.record)) for one in counted))


def _comparison(experiment: Experiment, pairs: ModePairs) -> Comparison | None:
    if not pairs.usable:
        return None
    sides = [mode_attempts(experiment, mode, pairs.response_tokens) for mode in (pairs.first_mode, pairs.second_mode)]
    return compare(
        sides[0],
        sides[1],
        [pair.as_pair() for pair in sorted(pairs.usable, key=lambda pair: pair.cell)],
        invalid_pairs=len(pairs.with_status(ProofStatus.INVALID)),
        order=pairs.order,
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
    return BudgetChange(
        first_mode=smallest.first_mode,
        second_mode=smallest.second_mode,
        budgets=(smallest.response_tokens, larger.response_tokens),
        cells=len(cells),
        gaps=(fmean(before), fmean(after)),
        change_interval=bounded_mean(changes, -2.0, 2.0),
    )


def _gaps(pairs: ModePairs) -> dict[Cell, float]:
    """Success of the second mode minus that of the first, by cell without its budget."""
    return {
        pair.cell._replace(response_tokens=0): float(pair.second.record.delivers - pair.first.record.delivers)
        for pair in pairs.usable
    }
