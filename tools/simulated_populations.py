"""Tasks drawn from populations of tasks: does the interval for tasks like these hold the mean over all of them?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from pytest_agentgrade.analysis.intervals import Floats
from pytest_agentgrade.analysis.population import task_mean_limits


@dataclass(frozen=True)
class Population:
    """Tasks to draw from: each has its own chances in both modes."""

    name: str
    spread: float
    """Of the tasks' difficulty, on the scale of the latent normal variable."""
    shift: float = 0.0
    """Mean difference of the modes on that scale."""
    own_shift: float = 0.0
    """Standard deviation of a task's own difference around it."""
    hopeless: float = 0.0
    """Share of tasks that no mode can do (1 %)."""
    special: tuple[float, float, float] | None = None
    """Share of tasks in which the whole difference sits, and the chances of both modes there."""

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Chances of the first and of the second mode for tasks of that shape."""
        middle = self.spread * rng.standard_normal(shape)
        half = (self.shift + self.own_shift * rng.standard_normal(shape)) / 2
        first, second = special.ndtr(middle - half), special.ndtr(middle + half)
        kind = rng.random(shape)
        if self.special is not None:
            share, one, other = self.special
            first, second = np.where(kind < share, one, first), np.where(kind < share, other, second)
        never = kind > 1 - self.hopeless
        return np.where(never, 0.01, first), np.where(never, 0.01, second)


POPULATIONS = (
    Population("no difference, tasks of all kinds", 1.2),
    Population("no difference on average, but in each task", 1.0, own_shift=1.2),
    Population("better by 20 points, more or less", 1.0, shift=0.75, own_shift=0.6),
    Population("seven of ten tasks hopeless, better in the others", 0.0, shift=1.05, hopeless=0.7),
    Population("one task of ten better by 80 points", 1.0, special=(0.1, 0.1, 0.9)),
    Population("one task of five better by 60 points", 1.0, special=(0.2, 0.2, 0.8)),
)
TASKS = (10, 20, 40)


def measure_population(population: Population, tasks: int, seeds: int, experiments: int) -> tuple[float, float]:
    """Shares of experiments in which the interval holds the mean over all tasks, and in which it leaves out 0."""
    rng = np.random.default_rng([seeds, tasks, *population.name.encode()])
    first, second = population.draw((1_000_000,), rng)
    known = float((second - first).mean())
    first, second = population.draw((experiments, tasks), rng)
    means = (rng.binomial(seeds, second) - rng.binomial(seeds, first)) / seeds
    limits = task_mean_limits(means)
    held, kept_zero = (((limits[:, 0] <= value) & (value <= limits[:, 1])).mean() for value in (known, 0.0))
    return float(held), float(1 - kept_zero)
