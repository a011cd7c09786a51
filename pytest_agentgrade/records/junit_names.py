"""Names of JUnit properties that are read again."""

from __future__ import annotations

PREFIX = "agentgrade."
RECORD = f"{PREFIX}record"
"""Property with the attempt's record and its run's as JSON; one testcase of each attempt carries it."""
