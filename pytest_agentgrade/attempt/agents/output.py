"""What an agent writes to stdout, taken in pieces: bounded, escaped, never concluded from alone."""

from __future__ import annotations

import json
import time
from collections import deque
from typing import Any

from pytest_agentgrade.attempt.agents.base import AgentEvent
from pytest_agentgrade.escaping import escape, escape_bytes

TAIL_BYTES = 65_536
_LINE_BYTES = 1 << 20
"""A longer line is no event that can be read whole; its beginning is kept."""
_EVENT_CHARS = 8_000
"""Of the texts of one event together."""
_EVENTS_KEPT = 2_000
"""From the beginning, and as many from the end: that is where agents tell how it went."""


class AgentOutput:
    """Its tail, and the JSON lines among it as events."""

    def __init__(self) -> None:
        self.started = 0.0
        """``time.monotonic()`` at the start of the agent's process."""
        self.tail = b""
        self._first: list[AgentEvent] = []
        self._last: deque[AgentEvent] = deque(maxlen=_EVENTS_KEPT)
        self._line = bytearray()
        self._dropped = 0

    @property
    def events(self) -> list[AgentEvent]:
        """In their order; those in the middle are left out where there are too many."""
        return [*self._first, *self._last]

    def add(self, data: bytes) -> None:
        """Take the next piece."""
        self.tail = (self.tail + data)[-TAIL_BYTES:]
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._extend(part)
            if self._line.startswith(b"{"):
                self._add_event(bytes(self._line))
            self._line.clear()
            self._dropped = 0
        self._extend(rest)

    def _extend(self, part: bytes) -> None:
        room = _LINE_BYTES - len(self._line)
        self._line += part[:room]
        self._dropped += max(0, len(part) - room)

    def _add_event(self, line: bytes) -> None:
        if (data := _event_data(line, self._dropped)) is not None:
            kept = self._first if len(self._first) < _EVENTS_KEPT else self._last
            kept.append(AgentEvent(time.monotonic() - self.started, data))


def _event_data(line: bytes, dropped: int) -> dict[str, Any] | None:
    """What a line says, escaped and cut to size with a note; None for the agent's ordinary output."""
    if dropped:
        return {"cut": f"line of {len(line) + dropped} bytes", "text": escape_bytes(line, _EVENT_CHARS)}
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    kept: dict[str, Any] = {}
    room = _EVENT_CHARS
    for key, value in data.items():
        if room <= 0:
            return {**kept, "cut": f"{len(data) - len(kept)} more of {len(data)} values"}
        kept[name := escape(key, 100)] = said = _escaped(value, room)
        room -= len(name) + len(str(said))
    return kept


def _escaped(value: Any, limit: int) -> Any:
    """Numbers and texts as they are (texts escaped); anything deeper as escaped JSON; cut at ``limit`` with a note."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return escape(value if isinstance(value, str) else json.dumps(value), limit)
