"""Three modes: how often is a difference claimed that is none, in any of the comparisons?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from simulated_attempts import Scenario, attempts, discordant, truth

from pytest_agentgrade.analysis.holm import holm
from pytest_agentgrade.analysis.mcnemar import ALPHA, exact_p, power


@dataclass(frozen=True)
class ThreeModes:
    """A reference and two others; who is told to differ from it without doing so is a false claim."""

    name: str
    reference: tuple[float, ...]
    others: tuple[tuple[float, ...], tuple[float, ...]]
    correlation: float


_EVEN, _MIXED, _RARE = (0.5, 0.5, 0.5, 0.5), (0.05, 0.3, 0.7, 0.95), (0.02, 0.05, 0.1, 0.2)
THREE_MODES = (
    ThreeModes("alike tasks, no difference", _EVEN, (_EVEN, _EVEN), 0.0),
    ThreeModes("mixed tasks, no difference", _MIXED, (_MIXED, _MIXED), 0.5),
    ThreeModes("rare successes, no difference", _RARE, (_RARE, _RARE), 0.3),
    ThreeModes("alike tasks, the third mode better by 40 points", _EVEN, (_EVEN, (0.9, 0.9, 0.9, 0.9)), 0.0),
)


@dataclass(frozen=True)
class Family:
    """Shares of experiments with three modes, 0..1."""

    any_false: float
    """A winner is named in a comparison in which there is no difference."""
    uncorrected: float
    """The same without Holm's correction."""
    found: float | None
    """The true difference is found; None where there is none."""
    power: float | None
    """What :func:`power` says of that at the level that is left to each of two comparisons."""


def measure_family(scenario: ThreeModes, seeds: int, experiments: int) -> Family:
    """Two comparisons with the same reference, so that their errors hang together as they do in a real run."""
    rng = np.random.default_rng([seeds, 3, *scenario.name.encode()])
    chances = (scenario.reference, *scenario.others)
    shape = (experiments, len(scenario.reference) * seeds)
    shared = rng.standard_normal((2, *shape))
    modes = [attempts(one, 1.0, scenario.correlation, seeds, shared, rng) for one in chances]
    p_values = np.array([[exact_p(*cells) for cells in discordant(modes[0], other)] for other in modes[1:]]).T
    adjusted = np.array([holm(row) for row in p_values.tolist()])
    true = np.array([other != scenario.reference for other in scenario.others])
    known = power(shape[1], *_discordance(scenario), alpha=ALPHA / 2) if true.any() else None
    return Family(
        any_false=float((adjusted <= ALPHA)[:, ~true].any(axis=1).mean()),
        uncorrected=float((p_values <= ALPHA)[:, ~true].any(axis=1).mean()),
        found=float((adjusted <= ALPHA)[:, true].mean()) if true.any() else None,
        power=known,
    )


def _discordance(scenario: ThreeModes) -> tuple[float, float]:
    known = truth(Scenario(scenario.name, scenario.reference, scenario.others[1], scenario.correlation))
    return known.first_only, known.second_only
