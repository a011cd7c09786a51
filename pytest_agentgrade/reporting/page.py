"""How wide a report is, and prose broken to that width."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable

PAGE_WIDTH = 80
"""Columns where nobody says how many there are: pipes, files, CI logs."""
_NO_BREAK = "\N{NO-BREAK SPACE}"
_UNIT = re.compile(r"(?<=\d) (?=%|s\b|tok/s|GiB)")
"""A blank between a figure and its unit."""
_NARROWEST, _WIDEST = 60, 100
"""Narrower, tables fall apart; wider, lines are hard to read."""


class TableRow(str):
    """A line of a table: laid out already, never broken."""

    __slots__ = ()


def page_width() -> int:
    """Columns of the terminal (or of ``COLUMNS``), 60 to 100; 80 when the output goes elsewhere."""
    return min(_WIDEST, max(_NARROWEST, shutil.get_terminal_size((PAGE_WIDTH, 24)).columns))


def fold(lines: Iterable[str], width: int = PAGE_WIDTH) -> list[str]:
    """Break prose that is wider than ``width``; what goes on in the next line is indented by two more columns.

    Words are never broken (paths and node ids stay whole), rows of tables are left alone.
    """
    return [part for line in lines for part in _folded(line, width)]


def _folded(line: str, width: int) -> list[str]:
    if isinstance(line, TableRow) or len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip(" ")))
    held = _UNIT.sub(_NO_BREAK, line.strip())
    parts = textwrap.wrap(
        held, width, initial_indent=indent, subsequent_indent=indent + "  ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return [part.replace(_NO_BREAK, " ") for part in parts]
