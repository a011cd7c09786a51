"""Put a reply together, from the chunks of a stream or from one JSON body."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_agentgrade.attempt.exchange import ToolCall
from pytest_agentgrade.escaping import escape

MAX_EVENT_BYTES = 4 * 1024 * 1024
"""A longer event is no chunk of a chat completion."""
_FIGURES = 100
_LARGEST = 2**53
_Json = Mapping[str, Any]


class ReplyParts:
    """What has come of a reply so far. Unknown or odd fields are ignored: servers differ."""

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self.usage: _Json | None = None
        self.timings: _Json | None = None
        self.error = ""
        self.error_type = ""
        self.deltas = 0
        self.characters = 0
        """Of reasoning, content and arguments together."""
        self.done = False
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._names: dict[int, str] = {}
        self._arguments: dict[int, list[str]] = {}

    @property
    def content(self) -> str:
        """Content so far."""
        return "".join(self._content)

    @property
    def reasoning(self) -> str:
        """Reasoning so far."""
        return "".join(self._reasoning)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Tool calls so far, by index; the last may be incomplete."""
        return tuple(ToolCall(self._names[key], "".join(self._arguments[key])) for key in sorted(self._names))

    @property
    def complete(self) -> bool:
        """Whether the reply came to its own end."""
        return not self.error and (self.done or self.finish_reason is not None)

    def add(self, chunk: _Json) -> None:
        """Take in a chunk of a stream, or a whole body (its ``message`` is one big delta)."""
        if "error" in chunk:
            self.add_error(chunk["error"])
            return
        if isinstance(chunk.get("usage"), dict):
            self.usage = _figures(chunk["usage"])
        if isinstance(chunk.get("timings"), dict):
            self.timings = _figures(chunk["timings"])
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                self._add_choice(choice)

    def add_error(self, error: object) -> None:
        """Take in an error body: ``{code, message, type}``, or anything."""
        body = error if isinstance(error, dict) else {"message": error}
        self.error_type = escape(str(body.get("type") or ""), 100)
        self.error = escape(str(body.get("message") or json.dumps(body, default=str)), 1_000)

    def _add_choice(self, choice: _Json) -> None:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict) and self._add_delta(delta):
            self.deltas += 1
        if isinstance(choice.get("finish_reason"), str):
            self.finish_reason = escape(choice["finish_reason"], 100)

    def _add_delta(self, delta: _Json) -> bool:
        found = self._keep(self._content, delta.get("content"))
        found |= self._keep(self._reasoning, delta.get("reasoning_content") or delta.get("reasoning"))
        calls = delta.get("tool_calls")
        for position, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(call, dict):
                self._add_call(call, position)
                found = True
        return found

    def _add_call(self, call: _Json, position: int) -> None:
        index = call.get("index")
        key = index if type(index) is int else position
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        name, arguments = function.get("name"), function.get("arguments")
        self._names[key] = self._names.get(key, "") + (name if isinstance(name, str) else "")
        self._arguments.setdefault(key, [])
        if isinstance(arguments, dict):
            arguments = json.dumps(arguments)
        self._keep(self._arguments[key], arguments)

    def _keep(self, pieces: list[str], text: object) -> bool:
        if isinstance(text, str) and text:
            pieces.append(text)
            self.characters += len(text)
            return True
        return False


class StreamReader:
    """Feeds the bytes of a server-sent event stream to :class:`ReplyParts`; ``parts.done`` after ``[DONE]``."""

    def __init__(self, parts: ReplyParts) -> None:
        self.parts = parts
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Take in the next bytes, cut anywhere."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for event in _events(lines):
            self._take(event)
        if len(self._rest) > MAX_EVENT_BYTES:
            self.parts.add_error(f"a line of the stream is longer than {MAX_EVENT_BYTES} bytes")
            self._rest = b""

    def _take(self, event: bytes) -> None:
        if event == b"[DONE]":
            self.parts.done = True
            return
        try:
            chunk = json.loads(event)
        except (ValueError, RecursionError) as error:
            self.parts.add_error(f"a chunk of the stream is not JSON: {error}")
            return
        if isinstance(chunk, dict):
            # Older servers send an error bare, on an `error:` line.
            self.parts.add({"error": chunk} if "code" in chunk and "message" in chunk else chunk)


def _events(lines: list[bytes]) -> Iterator[bytes]:
    """Payloads of the ``data:`` and ``error:`` lines. The servers put each JSON on one line, as is relied on here."""
    for raw in lines:
        name, _, value = raw.rstrip(b"\r").partition(b":")
        if name in (b"data", b"error") and value.strip():
            yield value.strip()


def _figures(body: _Json, depth: int = 2) -> dict[str, Any]:
    """What a record can hold of a server's figures: finite numbers, short texts, and such one level below."""
    kept: dict[str, Any] = {}
    for key, value in list(body.items())[:_FIGURES]:
        if isinstance(value, str):
            kept[escape(key, 100)] = escape(value, 100)
        elif value is None or (isinstance(value, int | float) and -_LARGEST < value < _LARGEST):
            kept[escape(key, 100)] = value
        elif isinstance(value, dict) and depth > 1:
            kept[escape(key, 100)] = _figures(value, depth - 1)
    return kept
