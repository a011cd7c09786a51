"""What an agent writes: events whole, or cut with a note; the first and the last of too many."""

from __future__ import annotations

import json

import pytest

from pytest_agentgrade.attempt.agents import output
from pytest_agentgrade.attempt.agents.output import TAIL_BYTES, AgentOutput


def taken(data: bytes, size: int = 4_096) -> AgentOutput:
    """What is made of ``data`` when it comes in pieces."""
    made = AgentOutput()
    for start in range(0, len(data), size):
        made.add(data[start : start + size])
    return made


def line(**values: object) -> bytes:
    return json.dumps(values).encode() + b"\n"


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_events_are_the_json_objects_among_the_lines(size: int) -> None:
    made = taken(b'hello\n{"a": 1}\n[1]\n{"b": [true]}\n{odd}\n{"half": ', size)
    assert [event.data for event in made.events] == [{"a": 1}, {"b": "[true]"}]


def test_a_long_event_is_kept_and_says_how_much_is_missing() -> None:
    (event,) = taken(line(type="tool", output="x" * 100_000, more=1)).events
    shown = event.data["output"]
    assert event.data["type"] == "tool" and event.data["cut"] == "1 more of 3 values"
    assert shown.startswith("xxx") and shown.endswith(" more characters]")
    missing = int(shown.rpartition("[")[2].split()[0])
    assert missing + shown.count("x") == 100_000 and len(json.dumps(event.data)) < 10_000


def test_a_line_too_long_to_be_read_is_told_by_its_beginning() -> None:
    data = line(type="tool", output="y" * 3_000_000)
    first, last = taken(data + line(type="end"), 60_000).events
    assert first.data["cut"] == f"line of {len(data) - 1} bytes"
    assert first.data["text"].startswith('{"type": "tool", "output": "yyy')
    assert last.data == {"type": "end"}


def test_the_first_and_the_last_events_of_too_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_EVENTS_KEPT", 3)
    made = taken(b"".join(line(n=n) for n in range(10)))
    assert [event.data["n"] for event in made.events] == [0, 1, 2, 7, 8, 9]


def test_the_tail_is_the_end_of_all() -> None:
    made = taken(b"a" * 200_000 + b"end")
    assert made.tail == b"a" * (TAIL_BYTES - 3) + b"end"
