"""Text tables with aligned columns."""

from __future__ import annotations

from collections.abc import Sequence

GAP = "  "


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, indent: str = "") -> list[str]:
    """Lines of a table: first column left-aligned, all others right-aligned."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    return [indent + _line(row, widths) for row in (head, *rows)]


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The same table in Markdown."""
    marks = ["---", *["---:"] * (len(head) - 1)]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (head, marks, *rows)]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return GAP.join([first, *rest]).rstrip()
