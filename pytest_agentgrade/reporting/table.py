"""Text tables with aligned columns, no wider than the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_agentgrade.reporting.page import PAGE_WIDTH, TableRow

GAP = "  "
_FIRST_COLUMN = 40
"""So wide the first column may stay while others need room."""


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, width: int = PAGE_WIDTH) -> list[str]:
    """Lines of a table: first column left-aligned, all others right-aligned.

    A head of several lines (``\\n``) stands with its last line above the cells. Too wide a first column is broken at
    blanks and underscores; columns that still do not fit make a further table below, with the first column again.
    """
    widths = [
        max(len(line) for row in (head, *rows) for line in row[column].split("\n")) for column in range(len(head))
    ]
    lines: list[str] = []
    for first, columns in _parts(widths, width):
        lines += [""] if lines else []
        chosen = [[row[0], *(row[column] for column in columns)] for row in (head, *rows)]
        sizes = [first, *(widths[column] for column in columns)]
        lines += _head_lines(chosen[0], sizes)
        lines += [line for row in chosen[1:] for line in _row_lines(row, sizes)]
    return lines


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, width: int = PAGE_WIDTH) -> list[str]:
    """The same table in Markdown, where ``width`` means nothing."""
    del width
    marks = ["---", *["---:"] * (len(head) - 1)]
    names = [name.strip().replace("/\n", "/").replace("\n", " ") for name in head]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (names, marks, *rows)]


def _parts(widths: Sequence[int], page: int) -> Iterator[tuple[int, list[int]]]:
    """(width of the first column, the other columns) of each table that the page has room for."""
    narrow, gap = min(widths[0], _FIRST_COLUMN), len(GAP)
    columns: list[int] = []
    for column in range(1, len(widths)):
        taken = sum(widths[one] + gap for one in (*columns, column))
        if columns and narrow + taken > page:
            yield _room(widths, columns, page), columns
            columns = []
        columns.append(column)
    yield _room(widths, columns, page), columns


def _room(widths: Sequence[int], columns: Sequence[int], page: int) -> int:
    left = page - sum(widths[column] + len(GAP) for column in columns)
    return min(widths[0], max(left, _FIRST_COLUMN))


def _head_lines(head: Sequence[str], sizes: Sequence[int]) -> list[str]:
    parts = [cell.split("\n") for cell in head]
    height = max(map(len, parts))
    padded = [[""] * (height - len(part)) + part for part in parts]
    return [_line([part[number] for part in padded], sizes) for number in range(height)]


def _row_lines(row: Sequence[str], sizes: Sequence[int]) -> Iterator[str]:
    """The figures stand beside the last line of a broken first cell."""
    *before, last = _broken(row[0], sizes[0])
    for part in before:
        yield TableRow(part)
    yield _line([last, *row[1:]], sizes)


def _broken(text: str, size: int) -> list[str]:
    """``text`` in lines of at most ``size`` characters, broken after blanks and before underscores where possible."""
    found, indent = [], ""
    while len(indent + text) > size:
        room = size - len(indent)
        cut = max(text.rfind("_", 1, room + 1), text.rfind(" ", 1, room) + 1)
        cut = cut if cut > 0 else room
        found.append((indent + text[:cut]).rstrip())
        text, indent = text[cut:], GAP
    return [*found, indent + text]


def _line(row: Sequence[str], sizes: Sequence[int]) -> str:
    first, *rest = row
    cells = [first.ljust(sizes[0]), *(cell.rjust(size) for cell, size in zip(rest, sizes[1:], strict=True))]
    return TableRow(GAP.join(cells).rstrip())
