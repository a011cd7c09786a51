"""Does a difference between modes stay when both get a larger response budget?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from pytest_agentgrade.analysis.contrasts import Contrast
from pytest_agentgrade.analysis.experiment import Cell, ModePairs
from pytest_agentgrade.analysis.figures import Interval
from pytest_agentgrade.analysis.holm import holm
from pytest_agentgrade.analysis.intervals import bounded_mean, bounded_mean_p
from pytest_agentgrade.analysis.mcnemar import ALPHA


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
