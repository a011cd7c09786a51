"""What the statistics are given: plain outcomes of attempts, already paired."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from pytest_agentgrade.records.model import AttemptRecord

LIMITS = frozenset({
    "response_budget_in_reasoning", "response_budget_in_content", "response_budget_in_tool_call",
    "context_full", "prompt_overflow", "server_limit", "task_clock", "turn_limit",
})  # fmt: skip
"""Endings that cut an attempt off: how long it would have taken is then not known (its time is censored)."""
BROKEN = frozenset({"server_died", "server_error", "stream_broken", "agent_crashed"})
"""Endings by which something broke under an attempt that did not finish: it would have gone on, so its time is no
less censored than that of one a limit has cut. A server that dies early is not quick."""
ABORTED = "loop_aborted"
"""The ending of an attempt that the live abort of loops has cut: never met on the way, always the last of it."""


@dataclass(frozen=True)
class Outcome:
    """What one attempt came to."""

    success: bool
    """The submission passes all ten checks."""
    passed: int
    checks: int
    """Checks that count: ten."""
    seconds: float | None
    """The task clock; None for a submission that no agent made here."""
    limited: bool
    """A limit ended the attempt, or something broke: ``seconds`` is a lower bound of the time it wanted."""
    digest: str | None = None
    """Digest of the submitted tree, for the determinism test; None where there is none."""

    @property
    def share(self) -> float:
        """Share of the checks passed, 0..1."""
        return self.passed / self.checks


@dataclass(frozen=True)
class ModeAttempts:
    """All counted attempts of one mode: (task, outcome)."""

    mode: str
    attempts: tuple[tuple[str, Outcome], ...]


@dataclass(frozen=True)
class Pair:
    """Two attempts of which everything but the mode is proved equal."""

    task: str
    seed: int
    repeat: int
    response_tokens: int
    first: Outcome
    second: Outcome


class PairCounts(NamedTuple):
    """The paired 2 x 2 table of successes."""

    both: int
    first_only: int
    second_only: int
    neither: int

    @property
    def pairs(self) -> int:
        """All pairs."""
        return sum(self)

    @property
    def discordant(self) -> int:
        """Pairs of which exactly one attempt succeeds: the only ones that tell the modes apart."""
        return self.first_only + self.second_only


def outcome(record: AttemptRecord) -> Outcome:
    """The plain numbers of a counted attempt. A limit met on the way by an attempt that then finished is none."""
    endings = {ending.ending for ending in record.submission.endings} if record.submission else set()
    return Outcome(
        success=record.delivers,
        passed=record.passed,
        checks=record.expected_checks,
        seconds=record.agent.clock_seconds if record.agent else None,
        limited=ABORTED in endings or (bool(endings & (LIMITS | BROKEN)) and "finished" not in endings),
        digest=record.submission.digest if record.submission else None,
    )


def count_pairs(pairs: Iterable[Pair]) -> PairCounts:
    """Tabulate the successes of pairs."""
    cells = [(pair.first.success, pair.second.success) for pair in pairs]
    return PairCounts(*(cells.count(cell) for cell in ((True, True), (True, False), (False, True), (False, False))))


_Item = TypeVar("_Item")


def by_task(items: Iterable[tuple[str, _Item]]) -> Mapping[str, Sequence[_Item]]:
    """Group (task, item) by task, tasks in alphabetical order."""
    groups: dict[str, list[_Item]] = {}
    for task, item in items:
        groups.setdefault(task, []).append(item)
    return {task: groups[task] for task in sorted(groups)}
