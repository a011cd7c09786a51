"""Modes whose attempts were not all made under the same conditions: their figures are of no one thing."""

from __future__ import annotations

from pytest_agentgrade.analysis.experiment import Experiment
from pytest_agentgrade.analysis.pair_conditions import Recorded, conditions

STEADY = (
    "sampling", "thinking", "task seconds", "turns", "live abort of loops", "agent", "sandbox image", "server flags",
    "model file", "server build", "host", "GPU", "container runtime",
)  # fmt: skip
"""Conditions that do not depend on task, seed or budget."""


def mixtures(experiment: Experiment) -> list[str]:
    """A sentence for each mode whose counted attempts differ in what should be steady."""
    by_mode: dict[str, list[Recorded]] = {}
    for one in experiment.chosen:
        if one.record.complete:
            by_mode.setdefault(one.record.key.mode, []).append(one)
    found = {mode: _differing(group) for mode, group in by_mode.items()}
    return [
        f"{mode}: its attempts differ in {', '.join(names)}. Its figures, and every comparison with it, mix them."
        for mode, names in found.items()
        if names
    ]


def _differing(group: list[Recorded]) -> list[str]:
    """All against the first one; what is not known of either is left out."""
    first, *others = group
    names = dict.fromkeys(STEADY, False)
    for other in others:
        one, two = _whole(first, other)
        for name in STEADY:
            values = one.get(name), two.get(name)
            names[name] |= None not in values and values[0] != values[1]
    return [name for name, differs in names.items() if differs]


def _whole(one: Recorded, other: Recorded) -> tuple[dict[str, str | None], dict[str, str | None]]:
    """What a mode declares as its own is steady within the mode, hence compared here as well."""
    sides = tuple(dict(side) for side in conditions(one, other))
    for side, recorded in zip(sides, (one, other), strict=True):
        if (server := recorded.record.server) is not None:
            side["model file"] = server.model_sha256
            side["server build"] = server.build or None
    return sides[0], sides[1]
