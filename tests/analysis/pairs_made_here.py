"""Pairs and modes for the tests of the statistics."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_agentgrade.analysis.comparison import compare
from pytest_agentgrade.analysis.figures import Comparison
from pytest_agentgrade.analysis.paired import ModeAttempts, Outcome, Pair


def an_outcome(
    passed: int = 10, seconds: float | None = 100.0, limited: bool = False, digest: str | None = "d"
) -> Outcome:
    return Outcome(passed == 10, passed, 10, seconds, limited, digest)


def a_pair(first: Outcome, second: Outcome, task: str = "cache", seed: int = 1) -> Pair:
    return Pair(task, seed, 0, 8192, first, second)


def pairs_of(both: int = 0, first_only: int = 0, second_only: int = 0, neither: int = 0, tasks: int = 4) -> list[Pair]:
    """Pairs dealt to tasks in turn; who fails passes one check; every attempt takes 100 s."""
    good, bad = an_outcome(10), an_outcome(1)
    kinds = [(good, good)] * both + [(good, bad)] * first_only + [(bad, good)] * second_only + [(bad, bad)] * neither
    return [a_pair(one, other, f"task{n % tasks}", n // tasks) for n, (one, other) in enumerate(kinds)]


def compared(pairs: Sequence[Pair], **options: object) -> Comparison:
    first = ModeAttempts("off", tuple((pair.task, pair.first) for pair in pairs))
    second = ModeAttempts("on", tuple((pair.task, pair.second) for pair in pairs))
    return compare(first, second, pairs, **options)  # type: ignore[arg-type]


def study_pairs() -> list[Pair]:
    """The eight published pairs; the times of attempts the study does not time are made up, limited and the same."""
    budget = an_outcome(1, 200.0, limited=True)
    cache = [(an_outcome(10, 192.0), an_outcome(10, 153.5)), (an_outcome(10, 431.2), an_outcome(10, 259.0))]
    transfers = [(budget, budget), (an_outcome(10, 480.1, limited=True), an_outcome(1, 186.1))]
    by_task = {"cache": cache, "ledger": [(budget, budget)] * 2, "planner": [(budget, budget)] * 2, "sql": transfers}
    return [
        a_pair(off, on, task, seed)
        for task, two in by_task.items()
        for seed, (off, on) in zip((1, 2), two, strict=True)
    ]
