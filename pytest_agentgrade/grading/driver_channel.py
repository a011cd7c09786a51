"""The driver's side of the pipe, and the objects it keeps for the host. Part of the program in the container."""

from __future__ import annotations

import os
import threading
from typing import Any

from pytest_agentgrade.grading.wire import HEADER, Message, frame_length, pack, unpack

_read, _write = os.read, os.write


class Channel:
    """The two ends of the pipe to the host, moved away from descriptors 0 and 1."""

    def __init__(self) -> None:
        self._questions = os.dup(0)
        self._answers = os.dup(1)
        self._lock = threading.Lock()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        os.close(nothing)

    def receive(self) -> Message | None:
        """The host's next message, None when it has hung up."""
        header = self._exactly(HEADER)
        text = self._exactly(frame_length(header)) if len(header) == HEADER else b""
        return unpack(text) if text else None

    def send(self, message: Message) -> None:
        """Write one frame; raises WireError, with nothing written, when it is too large."""
        data = memoryview(pack(message))
        with self._lock:
            while data:
                data = data[_write(self._answers, data) :]

    def _exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            piece = _read(self._questions, min(size - len(parts), 1 << 16))
            if not piece:
                return b""
            parts += piece
        return bytes(parts)


class Objects:
    """What stays in the container: objects by number, the same object under the same number."""

    def __init__(self) -> None:
        self._objects: list[Any] = []
        self._numbers: dict[int, int] = {}

    def reference(self, value: Any) -> list[Any]:
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self._objects)
            self._objects.append(value)
        return ["h", number]

    def __getitem__(self, number: int) -> Any:
        return self._objects[number]
