"""From runs to pairs: which attempts stand against each other, and what became of each pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pytest_agentgrade.analysis.pair_conditions import Recorded, run_identity
from pytest_agentgrade.analysis.paired import Pair, outcome
from pytest_agentgrade.analysis.pairs import PairProof, ProofStatus, prove_pair
from pytest_agentgrade.analysis.timeline import BALANCED, BLOCKED, Timeline
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.records.loaded import LoadedRun
from pytest_agentgrade.records.model import AttemptRecord, KeyRecord


class Cell(NamedTuple):
    """All that two attempts of a pair have in common by name."""

    task: str
    seed: int
    repeat: int
    response_tokens: int

    def __str__(self) -> str:
        repeat = f" repeat {self.repeat}" if self.repeat else ""
        return f"{self.task} seed {self.seed}{repeat}"


@dataclass(frozen=True)
class TriedPair:
    """Two counted attempts at the same cell, and what the proof says of them."""

    cell: Cell
    first: Recorded
    second: Recorded
    proof: PairProof
    apart: str = ""
    """Why they did not run next to each other; empty when they did."""

    @property
    def order(self) -> str:
        """``balanced`` only when both ran next to each other, in a run whose modes take turns; else ``blocked``."""
        return BLOCKED if self.apart else BALANCED

    def as_pair(self) -> Pair:
        """The plain numbers, for the statistics."""
        return Pair(*self.cell, outcome(self.first.record), outcome(self.second.record))


@dataclass(frozen=True)
class ModePairs:
    """The pairs of two modes at one response budget."""

    first_mode: str
    second_mode: str
    response_tokens: int
    tried: tuple[TriedPair, ...]
    alone: int
    """Cells in which only one mode has a counted attempt: no pair at all."""

    def with_status(self, status: ProofStatus) -> tuple[TriedPair, ...]:
        """The pairs whose proof ended so."""
        return tuple(pair for pair in self.tried if pair.proof.status is status)

    @property
    def usable(self) -> tuple[TriedPair, ...]:
        """Pairs that paired figures are made of: proven ones, and those of which nothing is known to differ."""
        return tuple(pair for pair in self.tried if pair.proof.status is not ProofStatus.INVALID)

    @property
    def order(self) -> str:
        """``balanced`` when every usable pair is."""
        return BLOCKED if self.blocked else BALANCED

    @property
    def blocked(self) -> tuple[TriedPair, ...]:
        """The usable pairs whose attempts did not run next to each other."""
        return tuple(pair for pair in self.usable if pair.order == BLOCKED)


@dataclass(frozen=True)
class Experiment:
    """The attempts of several runs, one for each cell and mode."""

    chosen: tuple[Recorded, ...]
    """In plan order, the attempts of a later run behind those of an earlier one."""
    twins: tuple[tuple[Recorded, Recorded], ...]
    """Counted attempts at a cell in the same mode, done twice: material for a determinism test, nothing else."""
    placebos: Mapping[str, str] = field(default_factory=dict)
    """Placebo -> the mode, with attempts here as well, from which it differs in numerics only."""
    doubles: Mapping[str, str] = field(default_factory=dict)
    """Mode -> an earlier mode that was served in exactly the same way: the same mode under two names."""
    timeline: Timeline = field(default_factory=lambda: Timeline(()))
    """In which order the attempts ran."""
    named: tuple[str, ...] = ()
    """Modes that were asked for in this order: they come first."""

    @property
    def contenders(self) -> tuple[str, ...]:
        """The modes that are compared: without placebos and doubles; the first is the one others are compared with."""
        return tuple(mode for mode in self.modes if mode not in self.placebos and mode not in self.doubles)

    @property
    def modes(self) -> tuple[str, ...]:
        """All of them, in the order in which they were asked for, else in that of the plan."""
        there = dict.fromkeys(one.record.key.mode for one in self.chosen)
        return tuple(dict.fromkeys((*(mode for mode in self.named if mode in there), *there)))

    @property
    def budgets(self) -> tuple[int, ...]:
        """All response budgets, smallest first."""
        return tuple(sorted({one.record.key.response_tokens for one in self.chosen}))

    @property
    def records(self) -> tuple[AttemptRecord, ...]:
        """The chosen attempts' records."""
        return tuple(one.record for one in self.chosen)

    @property
    def keys_by_run(self) -> tuple[tuple[KeyRecord, ...], ...]:
        """The chosen attempts that each run gave; a run that gave none is left out."""
        found: dict[object, list[KeyRecord]] = {}
        for one in self.chosen:
            found.setdefault(run_identity(one.run), []).append(one.record.key)
        return tuple(map(tuple, found.values()))

    def counted(self, mode: str, budget: int) -> tuple[Recorded, ...]:
        """Attempts of a mode at a budget that have all ten verdicts."""
        return tuple(one for one in self.chosen if _is(one, mode, budget) and one.record.complete)

    def pairs(self, first: str, second: str, budget: int) -> ModePairs:
        """Match and prove."""
        ones = {cell_of(one.record.key): one for one in self.counted(first, budget)}
        others = {cell_of(other.record.key): other for other in self.counted(second, budget)}
        tried = [
            TriedPair(cell, one, others[cell], prove_pair(one, others[cell]), self.timeline.apart(one, others[cell]))
            for cell, one in ones.items()
            if cell in others
        ]
        return ModePairs(first, second, budget, tuple(tried), len(ones.keys() ^ others.keys()))


def arrange(runs: Sequence[LoadedRun], named: Sequence[str] = ()) -> Experiment:
    """Choose one attempt for each cell and mode: of the run that has most modes of the cell, else of the first run.

    The first of the ``named`` modes is the one that others are compared with. SettingsError when one mode's name stands
    for two things.
    """
    _refuse_ambiguous_modes(runs)
    cells: dict[Cell, list[list[Recorded]]] = {}
    for loaded in runs:
        of_run: dict[Cell, list[Recorded]] = {}
        for record in loaded.records:
            of_run.setdefault(cell_of(record.key), []).append(Recorded(record, loaded.run))
        for cell, group in of_run.items():
            cells.setdefault(cell, []).append(group)
    chosen, twins = [], []
    for groups in cells.values():
        for one, others in _choose(groups):
            chosen.append(one)
            twins += [(one, other) for other in others if one.record.complete and other.record.complete]
    ordered = tuple(_in_order(chosen, runs))
    doubles = _doubles(ordered)
    twins += _again(ordered, doubles)
    placebos = _placebos(ordered, runs, doubles)
    return Experiment(ordered, tuple(twins), placebos, doubles, Timeline(runs), tuple(named))


def _placebos(chosen: Sequence[Recorded], runs: Sequence[LoadedRun], doubles: Mapping[str, str]) -> dict[str, str]:
    """As the runs declare them; a placebo whose mode has no attempt here is a mode like any other."""
    there = {one.record.key.mode for one in chosen}
    tables = {name: table for loaded in runs for name, table in loaded.run.modes.items() if table.get("placebo_of")}
    real = {name: doubles.get(str(table["placebo_of"]), str(table["placebo_of"])) for name, table in tables.items()}
    return {name: mode for name, mode in real.items() if {name, mode} <= there and name not in doubles}


def _doubles(chosen: Sequence[Recorded]) -> dict[str, str]:
    """Modes that share with an earlier one all that tells servers apart, in all their attempts."""
    servings: dict[str, set[object]] = {}
    for one in chosen:
        servings.setdefault(one.record.key.mode, set()).add(_serving(one.record))
    first: dict[object, str] = {}
    doubles = {}
    for mode, found in servings.items():
        (serving,) = found if len(found) == 1 else (None,)
        if serving is not None and first.setdefault(serving, mode) != mode:
            doubles[mode] = first[serving]
    return doubles


def _serving(record: AttemptRecord) -> object:
    """What a launched server was; None where that is not known, as of a server reached by URL."""
    server = record.server
    if server is None or server.declared is None or server.kind == "url" or server.model_sha256 is None:
        return None
    return server.declared.model_dump_json(), server.kind, server.build, server.model_sha256


def _again(chosen: Sequence[Recorded], doubles: Mapping[str, str]) -> list[tuple[Recorded, Recorded]]:
    """Counted attempts at a cell in a mode and in its double."""
    counted = {(one.record.key.mode, cell_of(one.record.key)): one for one in chosen if one.record.complete}
    return [
        (counted[doubles[mode], cell], one)
        for (mode, cell), one in counted.items()
        if mode in doubles and (doubles[mode], cell) in counted
    ]


def _choose(groups: list[list[Recorded]]) -> Iterable[tuple[Recorded, list[Recorded]]]:
    """For each mode of a cell: the attempt to count, and further ones."""
    by_mode: dict[str, list[Recorded]] = {}
    for group in sorted(groups, key=lambda group: -sum(one.record.complete for one in group)):
        for one in group:
            by_mode.setdefault(one.record.key.mode, []).append(one)
    for attempts in by_mode.values():
        first, *others = sorted(attempts, key=lambda one: not one.record.complete)
        yield first, others


def _in_order(chosen: Iterable[Recorded], runs: Sequence[LoadedRun]) -> list[Recorded]:
    places: dict[tuple[object, KeyRecord], int] = {}
    for loaded in runs:
        for record in loaded.records:
            places.setdefault((run_identity(loaded.run), record.key), len(places))
    return sorted(chosen, key=lambda one: places[run_identity(one.run), one.record.key])


def _refuse_ambiguous_modes(runs: Sequence[LoadedRun]) -> None:
    """What a mode is a placebo of is no part of how it is served, and a key that is not given says the same as None."""
    seen: dict[str, tuple[object, LoadedRun]] = {}
    for loaded in runs:
        for name, whole in loaded.run.modes.items():
            table = {key: value for key, value in whole.items() if key != "placebo_of" and value is not None}
            known, where = seen.setdefault(name, (table, loaded))
            if known != table:
                what = f"mode {name!r} is not the same in {where.source} and {loaded.source}: {known} against {table}"
                raise SettingsError(what, "give the modes different names, or compare other runs")


def _is(one: Recorded, mode: str, budget: int) -> bool:
    return one.record.key.mode == mode and one.record.key.response_tokens == budget


def cell_of(key: KeyRecord) -> Cell:
    """The cell an attempt belongs to."""
    return Cell(key.task, key.seed, key.repeat, key.response_tokens)
