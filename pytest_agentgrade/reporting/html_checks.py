"""The part of the page that shows who passed which check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_agentgrade.analysis.matrix import TaskMatrix, column_order, matrices
from pytest_agentgrade.reporting.html_attempts import Attempt
from pytest_agentgrade.reporting.html_parts import Cell

_MARKS = {
    "passed": "\N{CHECK MARK}", "failed": "\N{MULTIPLICATION X}", "error": "!", None: "",
}  # fmt: skip


@dataclass(frozen=True)
class MatrixPart:
    """The verdicts of one task; a column for each attempt."""

    task: str
    columns: tuple[tuple[str, str, str], ...]
    """(mode, seed and what else is in the label, id of the attempt)."""
    rows: tuple[tuple[Cell, ...], ...]
    """The check, then a cell for each column: a mark, and in its note the word for it."""
    totals: tuple[str, ...]


def matrix_parts(attempts: Sequence[Attempt]) -> tuple[MatrixPart, ...]:
    """One matrix for each task, as in the terminal."""
    order = column_order(attempt.record.key for attempt in attempts)
    chosen = sorted((one for one in attempts if not one.twin), key=lambda attempt: order(attempt.record.key))
    by_task: dict[str, list[Attempt]] = {}
    for attempt in chosen:
        by_task.setdefault(attempt.record.key.task, []).append(attempt)
    found = matrices(attempt.record for attempt in chosen)
    return tuple(_part(matrix, by_task[matrix.task]) for matrix in found if matrix.rows)


def _part(matrix: TaskMatrix, attempts: Sequence[Attempt]) -> MatrixPart:
    return MatrixPart(
        task=matrix.task,
        columns=tuple(_column(attempt) for attempt in attempts),
        rows=tuple(
            (
                Cell(check.removeprefix("test_").replace("_", " "), "beyond" if beyond else ""),
                *(Cell(_MARKS[outcome], outcome or "not judged", kind=outcome or "") for outcome in outcomes),
            )
            for check, beyond, outcomes in matrix.rows
        ),
        totals=matrix.totals,
    )


def _column(attempt: Attempt) -> tuple[str, str, str]:
    key = attempt.record.key
    return key.mode, key.label.removeprefix(f"{key.mode}-"), attempt.id
