"""A report of pytest's without anything that a terminal, a browser or an XML parser would obey."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pytest_agentgrade.assignment.secrets import hide
from pytest_agentgrade.escaping import escape

_CHARACTERS = 1_000_000
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def escape_report(report: Any, keys: Sequence[str] = ()) -> None:
    """Escape what a ``TestReport`` shows, in place, and hide these keys: ``--showlocals`` prints settings.

    All text from outside is escaped where it comes in. But a check may ask for a candidate's plain text and compare
    it, and pytest shows both sides of a comparison of texts as they are.
    """
    text = report.longreprtext
    if (shown := hide(_escaped(text), keys)) != text:
        report.longrepr = shown
    report.sections = [(title, hide(_escaped(content), keys)) for title, content in report.sections]
    report.user_properties = [
        (name, hide(_escaped(value), keys) if isinstance(value, str) else value)
        for name, value in report.user_properties
    ]


def without_colours(text: str) -> str:
    """A line of pytest's own explanation without the colours it has in a terminal: it is kept, and read elsewhere."""
    return _COLOURS.sub("", text)


def _escaped(text: str) -> str:
    return escape(text, _CHARACTERS, keep_newlines=True)
