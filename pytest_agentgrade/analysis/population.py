"""From these tasks to tasks like these: only with enough of them, and then clustered by task."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

import numpy as np
from scipy import special

from pytest_agentgrade.analysis.figures import Interval, PopulationFigures
from pytest_agentgrade.analysis.intervals import LEVEL, Floats
from pytest_agentgrade.analysis.paired import Pair, by_task

FEWEST_TASKS = 10
UNSEEN = 0.5
"""The spread is taken as if one more task had been this much better, and one this much worse."""


def infer_to_tasks(pairs: Sequence[Pair], level: float = LEVEL) -> PopulationFigures:
    """Interval of the difference of success rates over a population of tasks; None below ten tasks.

    The task is the unit (the cluster): more seeds make its mean sharper, not the sample larger (Miller 2024, "Adding
    error bars to evals", section on clustered errors).
    """
    gaps = by_task((pair.task, float(pair.second.success - pair.first.success)) for pair in pairs)
    means = [mean(task) for task in gaps.values()]
    if len(means) < FEWEST_TASKS:
        these = "this one task" if len(means) == 1 else f"these {len(means)} tasks"
        like = "it," if len(means) == 1 else "them"
        reason = f"This is said of {these} only; for tasks like {like} it takes {FEWEST_TASKS} or more"
        return PopulationFigures(len(means), None, reason)
    low, high = task_mean_limits(np.array([means]), level)[0]
    return PopulationFigures(len(means), Interval(float(low), float(high), "t on task means, two unseen tasks"), "")


def task_mean_limits(means: Floats, level: float = LEVEL) -> Floats:
    """Limits (m, 2) of the mean difference over a population, from m samples of task means (m, tasks) in -1..1.

    Student's t, but with two made-up tasks in the spread, at UNSEEN to both sides of the mean (as Agresti and Coull
    1998 add successes and failures). The plain t interval assumes that the tasks seen show the spread: where the
    difference sits in one task of ten, ten tasks often show none of it, and it was measured to cover 85 % only. This
    one has no length zero either when all tasks show the same.
    """
    count = means.shape[1]
    centre = means.mean(axis=1)
    squares = ((means - centre[:, np.newaxis]) ** 2).sum(axis=1) + 2 * UNSEEN**2
    half = float(special.stdtrit(count - 1, (1 + level) / 2)) * np.sqrt(squares / (count - 1) / count)
    return np.asarray(np.clip(np.stack([centre - half, centre + half], axis=1), -1.0, 1.0), dtype=np.float64)
