"""The matrix check x attempt: who passed what."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pytest_agentgrade.records.model import AttemptRecord, KeyRecord


@dataclass(frozen=True)
class TaskMatrix:
    """Verdicts of one task."""

    task: str
    labels: tuple[str, ...]
    """Column heads: ``mode-seed`` and so on, as :func:`column_order` has them."""
    rows: tuple[tuple[str, bool, tuple[str | None, ...]], ...]
    """(check, beyond, outcome for each column or None where it was not judged)."""
    totals: tuple[str, ...]
    """``7/10`` for each column; ``-`` where the attempt is not counted."""


def column_order(keys: Iterable[KeyRecord]) -> Callable[[KeyRecord], tuple[int, int, int, int]]:
    """To sort by: modes as they first appear in ``keys``, then budget, seed and repeat; the same at every task.

    In a balanced run the modes take turns, so that the order in which attempts ran is another one at each task.
    """
    modes = list(dict.fromkeys(key.mode for key in keys))
    return lambda key: (modes.index(key.mode), key.response_tokens, key.seed, key.repeat)


def matrices(records: Iterable[AttemptRecord]) -> tuple[TaskMatrix, ...]:
    """One matrix for each task, by name; columns by mode and in it by seed: what a mode does lies side by side."""
    records = list(records)
    order = column_order(record.key for record in records)
    by_task: dict[str, list[AttemptRecord]] = {}
    for record in sorted(records, key=lambda record: order(record.key)):
        by_task.setdefault(record.key.task, []).append(record)
    return tuple(_matrix(task, group) for task, group in sorted(by_task.items()))


def _matrix(task: str, records: list[AttemptRecord]) -> TaskMatrix:
    checks = sorted({(verdict.beyond, verdict.check) for record in records for verdict in record.verdicts})
    outcomes = [{verdict.check: verdict.outcome for verdict in record.verdicts} for record in records]
    return TaskMatrix(
        task=task,
        labels=tuple(record.key.label for record in records),
        rows=tuple((check, beyond, tuple(column.get(check) for column in outcomes)) for beyond, check in checks),
        totals=tuple(f"{r.passed}/{r.expected_checks}" if r.complete else "-" for r in records),
    )
