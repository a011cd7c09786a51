"""A report of pytest's without anything that a terminal, a browser or an XML parser would obey."""

from __future__ import annotations

import re
from typing import Any

from pytest_agentgrade.escaping import escape

_CHARACTERS = 1_000_000
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def escape_report(report: Any) -> None:
    """Escape what a ``TestReport`` shows, in place.

    All text from outside is escaped where it comes in. But a check may ask for a candidate's plain text and compare
    it, and pytest shows both sides of a comparison of texts as they are.
    """
    text = report.longreprtext
    if (shown := _escaped(text)) != text:
        report.longrepr = shown
    report.sections = [(title, _escaped(content)) for title, content in report.sections]
    report.user_properties = [
        (name, _escaped(value) if isinstance(value, str) else value) for name, value in report.user_properties
    ]


def without_colours(text: str) -> str:
    """A line of pytest's own explanation without the colours it has in a terminal: it is kept, and read elsewhere."""
    return _COLOURS.sub("", text)


def _escaped(text: str) -> str:
    return escape(text, _CHARACTERS, keep_newlines=True)
