"""Gates that compare modes: asked only of modes with pairs, and told which attempts their figures are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from pytest_agentgrade.analysis.experiment import Experiment, ModePairs
from pytest_agentgrade.analysis.gates import Figures, Gate, GateResult
from pytest_agentgrade.wording import counted


def judge(gate: Gate, figures: Figures, experiment: Experiment, budget: int) -> GateResult:
    """Ask a gate at one response budget.

    Modes of which no pair may be compared differ in more than the mode: no figure of theirs answers a question that
    names both, so it trips without being judged. Figures of a mode are of all its counted attempts; where some of
    these are in no pair, the answer says so.
    """
    result = gate.evaluate(figures)
    found = [experiment.pairs(one, other, budget) for one, other in combinations(gate.modes(figures), 2)]
    if apart := [pairs for pairs in found if not pairs.usable]:
        why = f"no pair of {apart[0].first_mode} and {apart[0].second_mode} that may be compared"
        return replace(result, tripped=True, undecided=why, judged=False)
    return replace(result, note=_unpaired(experiment, found, budget))


def _unpaired(experiment: Experiment, found: Sequence[ModePairs], budget: int) -> str:
    """Which modes were tried at cells where another one was not, or not under the same conditions."""
    alone: dict[str, int] = {}
    for pairs in found:
        for mode in (pairs.first_mode, pairs.second_mode):
            without = len(experiment.counted(mode, budget)) - len(pairs.usable)
            alone[mode] = max(alone.get(mode, 0), without)
    told = [f"{mode} has {counted(number, 'attempt')} in no valid pair" for mode, number in alone.items() if number]
    return f"these figures are not of the same cells: {', '.join(told)}" if told else ""
