"""What carries bytes between the host and a driver."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Protocol


class Who(Enum):
    """Who made a driver's process end."""

    CANDIDATE = "candidate"
    HOST = "host"


class TransportEnd(NamedTuple):
    """Why nothing more comes."""

    who: Who
    text: str
    """A sentence for people, safe to show."""


class Transport(Protocol):
    """A started driver process and its two pipes."""

    scratch: str
    """Absolute path, inside, of the folder the candidate works in."""

    def send(self, data: bytes, timeout: float) -> None:
        """Write all of ``data``. Raises TimeoutError, or BrokenPipeError when the process is gone."""

    def receive(self, timeout: float) -> bytes:
        """Some bytes, or ``b""`` at the end. Raises TimeoutError when nothing comes within ``timeout`` seconds."""

    def ending(self) -> TransportEnd:
        """After the end: whose doing it was."""

    def complaint(self) -> str:
        """What the process has written to stderr lately, escaped; of use before the candidate's tree is sent only."""

    def close(self) -> None:
        """Kill the process and whatever it started, and let go of everything. May be called twice."""
