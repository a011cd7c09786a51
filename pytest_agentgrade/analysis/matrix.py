"""The matrix check x attempt: who passed what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_agentgrade.records.model import AttemptRecord


@dataclass(frozen=True)
class TaskMatrix:
    """Verdicts of one task."""

    task: str
    labels: tuple[str, ...]
    """Column heads: ``mode-seed`` and so on, in plan order."""
    rows: tuple[tuple[str, bool, tuple[str | None, ...]], ...]
    """(check, beyond, outcome for each column or None where it was not judged)."""
    totals: tuple[str, ...]
    """``7/10`` for each column; ``-`` where the attempt is not counted."""


def matrices(records: Iterable[AttemptRecord]) -> tuple[TaskMatrix, ...]:
    """One matrix for each task, tasks in the order in which they first appear."""
    by_task: dict[str, list[AttemptRecord]] = {}
    for record in records:
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
