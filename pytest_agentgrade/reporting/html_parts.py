"""What an HTML page is put together from: cells, tables, and figures as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from pytest_agentgrade.analysis.figures import Interval

NONE = "\N{EN DASH}"
"""Shown where there is no figure."""


class Cell(NamedTuple):
    """One cell of a table."""

    text: str
    note: str = ""
    """A second, smaller line: the interval of a figure."""
    target: str = ""
    """Id of the part of the page that the cell leads to."""
    kind: str = ""
    """CSS classes."""


class Table(NamedTuple):
    """A table; the first cell of a row is its head."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]


def plain_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table of text alone, such as the terminal's ones; line breaks in its head are the terminal's."""
    titles = [title.replace("/\n", "/").replace("\n", " ") for title in head]
    return Table(titles, [[Cell(NONE if text == "-" else text) for text in row] for row in rows])


def number(value: float | None, unit: str = "", places: int = 1) -> str:
    """``1,234.5 s``; a dash for None."""
    return NONE if value is None else f"{value:,.{places}f}{unit}"


def count(value: int | None, unit: str = "") -> str:
    """``8,192``; a dash for None."""
    return NONE if value is None else f"{value:,}{unit}"


def share(value: float | None) -> str:
    """``50 %``; a dash for None."""
    return NONE if value is None else f"{100 * value:.0f} %"


def interval(limits: Interval | None, scale: float = 1.0, unit: str = "", places: int = 0) -> str:
    """``16 to 84 %``; empty for None, and without an upper limit ``16 % or more``."""
    if limits is None:
        return ""
    low, high = (scale * limit for limit in (limits.low, limits.high))
    if not math.isfinite(high):
        return f"{low:,.{places}f}{unit} or more"
    return f"{low:,.{places}f} to {high:,.{places}f}{unit}"


def size(value: int | None) -> str:
    """Bytes as MiB or GiB; a dash for None."""
    if value is None:
        return NONE
    return f"{value / 2**30:.1f} GiB" if value >= 2**30 else f"{value / 2**20:.0f} MiB"


def moment(seconds: float) -> str:
    """Unix time as ``2026-11-30 23:52:38 UTC``; a dash for 0, which stands for not known, and for what is no date."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if seconds else NONE
    except (ValueError, OverflowError, OSError):
        return NONE
