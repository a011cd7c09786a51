"""The proxy's journal: JSON lines, one when a request comes in, one when its exchange has ended."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_agentgrade.attempt.exchange import Exchange
from pytest_agentgrade.errors import HostError


class ExchangeLog:
    """Appends to a file. An ended exchange is on disk when :meth:`ended` returns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle = path.open("ab", buffering=0)

    def started(self, number: int, wall: float, digest: str) -> None:
        """Note a request that is about to be sent on; a reader tells an exchange that never ended by it."""
        self._write({"kind": "request", "number": number, "wall": wall, "request_digest": digest})

    def ended(self, exchange: Exchange) -> None:
        """Note an ended exchange, and sync."""
        self._write({"kind": "exchange", **exchange.to_dict()})
        os.fsync(self._handle.fileno())

    def close(self) -> None:
        """Close the file."""
        self._handle.close()

    def _write(self, entry: Mapping[str, Any]) -> None:
        line = memoryview(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
        while line:  # a raw write may take a part only
            line = line[self._handle.write(line) :]


def read_log(path: Path) -> tuple[Exchange, ...]:
    """All ended exchanges of a journal, by number. A last line cut by a kill is no error; any other is HostError."""
    exchanges = [Exchange.from_dict(entry) for entry in _entries(path) if entry.pop("kind", None) == "exchange"]
    return tuple(sorted(exchanges, key=lambda exchange: exchange.number))


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise HostError(f"{path}, line {number}, is not JSON: {error}", "the file was changed by hand?") from error
        if not isinstance(entry, dict):
            raise HostError(f"{path}, line {number}, is no JSON object", "the file was changed by hand?")
        yield entry
