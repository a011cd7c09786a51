"""Per mode: what was delivered, at what speed, and what stopped the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from pytest_agentgrade.analysis.speed import ModeSpeed, mode_speed
from pytest_agentgrade.records.model import AttemptRecord

SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True)
class ModeSummary:
    """Figures of one mode (at one response budget) over its *counted* attempts: complete, without a fault."""

    mode: str
    response_tokens: int
    planned: int
    """Attempts in the plan."""
    faulted: int
    """Attempts ended by a fault that is not the model's: not counted."""
    partial: int
    """Attempts of which not all ten checks were run (``-x``, ``-k``) or that did not run: not counted."""
    counted: int
    delivered: int
    """Counted attempts whose submission passes all ten checks."""
    checks_passed: int
    checks_total: int
    predicted_tokens: int
    predicted_seconds: float
    clock_seconds: float | None
    """Sum of the task clocks of all counted attempts; None for submissions that no agent made here."""
    seconds_to_patch: float | None
    """Median task clock of the attempts that delivered."""
    drafted: int | None
    accepted: int | None
    endings: tuple[tuple[str, ...], ...]
    """The endings of each counted attempt in the order of time; an attempt may carry several."""
    contradicted: int
    """Counted attempts whose server was not in the mode it was meant to be in."""
    speed: ModeSpeed
    """Speed by kind of response, drafts by position, memory."""

    @property
    def success_rate(self) -> float | None:
        """Share of counted attempts that deliver, 0..1; None without any."""
        return self.delivered / self.counted if self.counted else None

    @property
    def tokens_per_second(self) -> float | None:
        """The study's speed: accepted target tokens / server generation time, prompt processing left out."""
        return self.predicted_tokens / self.predicted_seconds if self.predicted_seconds > 0 else None

    @property
    def patches_per_hour(self) -> float | None:
        """3600 x delivered / sum of the task clocks of *all* counted attempts."""
        if not self.clock_seconds:
            return None
        return SECONDS_PER_HOUR * self.delivered / self.clock_seconds

    def met(self, *endings: str) -> int:
        """Counted attempts that carry any of these endings."""
        return sum(not set(endings).isdisjoint(carried) for carried in self.endings)

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted / drafted tokens, 0..1; None where nothing was drafted."""
        return self.accepted / self.drafted if self.drafted and self.accepted is not None else None


def summarise(records: Iterable[AttemptRecord]) -> tuple[ModeSummary, ...]:
    """One summary for each (mode, response budget), in the order in which they first appear."""
    groups: dict[tuple[str, int], list[AttemptRecord]] = {}
    for record in records:
        groups.setdefault((record.key.mode, record.key.response_tokens), []).append(record)
    return tuple(_summary(mode, budget, group) for (mode, budget), group in groups.items())


def _summary(mode: str, budget: int, records: Sequence[AttemptRecord]) -> ModeSummary:
    counted = [record for record in records if record.complete]
    faulted = sum(record.fault is not None for record in records)
    agents = [record.agent for record in counted if record.agent is not None]
    clocks = [r.agent.clock_seconds for r in counted if r.agent is not None and r.delivers]
    return ModeSummary(
        mode=mode,
        response_tokens=budget,
        planned=len(records),
        faulted=faulted,
        partial=len(records) - len(counted) - faulted,
        counted=len(counted),
        delivered=sum(record.delivers for record in counted),
        checks_passed=sum(record.passed for record in counted),
        checks_total=sum(record.expected_checks for record in counted),
        predicted_tokens=sum(agent.predicted_tokens for agent in agents),
        predicted_seconds=sum(agent.predicted_seconds for agent in agents),
        clock_seconds=sum(agent.clock_seconds for agent in agents) if agents else None,
        seconds_to_patch=median(clocks) if clocks else None,
        drafted=_total([agent.drafts.drafted for agent in agents]),
        accepted=_total([agent.drafts.accepted for agent in agents]),
        endings=tuple(_endings(record) for record in counted),
        contradicted=sum(agent.mode_proof == "contradicted" for agent in agents),
        speed=mode_speed(agents),
    )


def _total(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _endings(record: AttemptRecord) -> tuple[str, ...]:
    return tuple(ending.ending for ending in record.submission.endings) if record.submission else ()
