"""In which order attempts ran in fact: a plan that is run in parts, or resumed, is not run as it was planned."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from pytest_agentgrade.analysis.pair_conditions import Recorded, run_identity, same_run
from pytest_agentgrade.records.loaded import LoadedRun
from pytest_agentgrade.records.model import AttemptRecord, KeyRecord

BALANCED, BLOCKED = "balanced", "blocked"
_TAKING_TURNS = (BALANCED, "by-seed")
"""Orders of plans in which the modes of a cell run next to each other."""
RUNS_APART = "they belong to two runs"
PLANNED_APART = "no balanced plan brought them together"
SESSIONS_APART = "they ran in two sessions"
OTHERS_BETWEEN = "other attempts ran between them"
_Cell = tuple[str, int, int, int]


class Timeline:
    """When every attempt of some runs began, those included that count for nothing."""

    def __init__(self, runs: Iterable[LoadedRun]) -> None:
        begun: dict[tuple[str, float], set[tuple[float, _Cell]]] = {}
        for loaded in runs:
            found = ((_begun(record), _cell(record.key)) for record in loaded.records)
            begun.setdefault(run_identity(loaded.run), set()).update((at, cell) for at, cell in found if at)
        self._begun = {run: sorted(found) for run, found in begun.items()}

    def apart(self, one: Recorded, other: Recorded) -> str:
        """Why two attempts at a cell did not run next to each other; empty when they did.

        Where the records tell no times (patches made elsewhere, JUnit files without our properties) the plan is all
        that is known. Other modes at the same cell may have run between them: that is what a balanced plan asks for.
        """
        if not same_run(one, other):
            return RUNS_APART
        if one.run.order not in _TAKING_TURNS:
            return PLANNED_APART
        sessions = [side.record.agent.session if side.record.agent else None for side in (one, other)]
        if None not in sessions and len(set(sessions)) > 1:
            return SESSIONS_APART
        first, last = sorted((_begun(one.record), _begun(other.record)))
        return OTHERS_BETWEEN if first and self._others_between(one, first, last) else ""

    def _others_between(self, one: Recorded, first: float, last: float) -> bool:
        begun = self._begun.get(run_identity(one.run), [])
        between = begun[bisect_right(begun, first, key=_at) : bisect_left(begun, last, key=_at)]
        return any(cell != _cell(one.record.key) for _, cell in between)


def _at(begun: tuple[float, _Cell]) -> float:
    return begun[0]


def _begun(record: AttemptRecord) -> float:
    """Unix time at which its agent started; 0 where that is not known."""
    return record.agent.started_at if record.agent else 0.0


def _cell(key: KeyRecord) -> _Cell:
    return key.task, key.seed, key.repeat, key.response_tokens
