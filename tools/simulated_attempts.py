"""Made-up attempts of two modes at four tasks, with the truth known: what the simulations are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pytest_agentgrade.analysis.intervals import Floats

TASK_CLOCK = 480.0
CHECKS_WHEN_FAILED = 0.3
"""Chance of each of eight checks when an attempt fails; one more always passes, one never."""


@dataclass(frozen=True)
class Scenario:
    """The truth of a simulated experiment, for each of the four tasks."""

    name: str
    first: tuple[float, ...]
    """Success rates of the first mode."""
    second: tuple[float, ...]
    correlation: float
    """Of the two attempts of a pair, on the scale of the latent normal variable; times share it."""
    pace: float = 1.0
    """Time the second mode takes, as a share of the first's."""

    @property
    def no_difference(self) -> bool:
        """Nothing at all differs: every claim is a false one."""
        return self.first == self.second and self.pace == 1.0


@dataclass(frozen=True)
class Attempts:
    """One mode's attempts of m experiments; all arrays of shape (m, 4 x seeds), tasks one after the other."""

    success: Floats
    seconds: Floats
    limited: NDArray[np.bool_]
    share: Floats


@dataclass(frozen=True)
class Truth:
    """What is being estimated."""

    success: float
    difference: float
    share: float
    share_difference: float
    rate: float
    rate_difference: float
    first_only: float
    second_only: float


def simulate(scenario: Scenario, seeds: int, experiments: int, rng: np.random.Generator) -> tuple[Attempts, Attempts]:
    """Attempts of both modes, pairs in the same place."""
    shape = (experiments, len(scenario.first) * seeds)
    shared = rng.standard_normal((2, *shape))
    return (
        attempts(scenario.first, 1.0, scenario.correlation, seeds, shared, rng),
        attempts(scenario.second, scenario.pace, scenario.correlation, seeds, shared, rng),
    )


def attempts(
    chances: tuple[float, ...], pace: float, correlation: float, seeds: int, shared: Floats, rng: np.random.Generator
) -> Attempts:
    """Of one mode; ``shared`` is what the attempts of a pair have in common."""
    own = rng.standard_normal(shared.shape)
    skill, haste = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    success = special.ndtr(skill) < np.repeat(chances, seeds)
    base = np.repeat(np.linspace(120.0, 330.0, len(chances)), seeds)
    wanted = pace * base * np.exp(0.4 * haste + np.where(success, 0.0, 0.4))
    out_of_tokens = ~success & (rng.random(success.shape) < 0.5)
    some = (1 + rng.binomial(8, CHECKS_WHEN_FAILED, success.shape)) / 10
    return Attempts(
        success=success.astype(np.float64),
        seconds=np.minimum(wanted, TASK_CLOCK),
        limited=(wanted > TASK_CLOCK) | out_of_tokens,
        share=np.where(success, 1.0, some),
    )


@lru_cache(maxsize=32)
def truth(scenario: Scenario) -> Truth:
    """From the scenario; times and discordance from 200,000 attempts at each task."""
    first, second = simulate(scenario, 200_000, 1, np.random.default_rng(7))
    success = float(np.mean(scenario.second))
    difference = success - float(np.mean(scenario.first))
    rate, first_rate = 3600 * success / second.seconds.mean(), 3600 * (success - difference) / first.seconds.mean()
    failed_share = (1 + 8 * CHECKS_WHEN_FAILED) / 10
    return Truth(
        success=success,
        difference=difference,
        share=success + (1 - success) * failed_share,
        share_difference=difference * (1 - failed_share),
        rate=float(rate),
        rate_difference=float(rate - first_rate),
        first_only=float((first.success > second.success).mean()),
        second_only=float((second.success > first.success).mean()),
    )


def discordant(first: Attempts, second: Attempts) -> list[tuple[int, int]]:
    """(first only, second only) of each experiment."""
    first_only = (first.success > second.success).sum(axis=1).tolist()
    return list(zip(first_only, (second.success > first.success).sum(axis=1).tolist(), strict=True))
