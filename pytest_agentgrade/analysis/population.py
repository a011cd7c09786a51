"""From these tasks to tasks like these: only with enough of them, and then clustered by task."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev

from scipy import special

from pytest_agentgrade.analysis.figures import Interval, PopulationFigures
from pytest_agentgrade.analysis.intervals import LEVEL
from pytest_agentgrade.analysis.paired import Pair, by_task

FEWEST_TASKS = 10


def infer_to_tasks(pairs: Sequence[Pair], level: float = LEVEL) -> PopulationFigures:
    """Interval of the difference of success rates over a population of tasks: Student's t on the task means.

    The task is the unit (the cluster): more seeds make its mean sharper, not the sample larger (Miller 2024, "Adding
    error bars to evals", section on clustered errors). None below ten tasks, or when all tasks show the same.
    """
    gaps = by_task((pair.task, float(pair.second.success - pair.first.success)) for pair in pairs)
    means = [mean(task) for task in gaps.values()]
    if len(means) < FEWEST_TASKS:
        reason = f"This is said of these {len(means)} tasks only; for tasks like them it takes {FEWEST_TASKS} or more"
        return PopulationFigures(len(means), None, reason)
    if stdev(means) == 0:
        return PopulationFigures(
            len(means), None, "All tasks show the same difference: nothing is known of its spread over other tasks"
        )
    half = float(special.stdtrit(len(means) - 1, (1 + level) / 2)) * stdev(means) / len(means) ** 0.5
    interval = Interval(max(-1.0, mean(means) - half), min(1.0, mean(means) + half), "t on task means")
    return PopulationFigures(len(means), interval, "")
