"""The folder a candidate works in: its current directory, inside the container."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from pytest_agentgrade.errors import TaskAuthorError

_PIECE = 1_000_000


class Scratch:
    """Files by relative POSIX path."""

    def __init__(self, ask: Callable[..., Any], root: str) -> None:
        self._ask = ask
        self._root = root

    def write(self, name: str, data: bytes) -> None:
        """Make a file (and its folders) with these bytes."""
        pieces = [data[start : start + _PIECE] for start in range(0, len(data), _PIECE)] or [b""]
        for number, piece in enumerate(pieces):
            self._ask("write", (_inside(name), piece, number > 0))

    def read(self, name: str) -> Any:
        """A file's bytes, at most about 3 MB."""
        return self._answer("read", _inside(name))

    def exists(self, name: str) -> Any:
        """Whether something of that name is there."""
        return self._answer("exists", _inside(name))

    def list(self, folder: str = ".") -> Any:
        """Sorted relative paths of all files below ``folder``."""
        return self._answer("files", _inside(folder))

    def remove(self, name: str) -> None:
        """Delete a file."""
        self._ask("remove", (_inside(name),))

    def utime(self, name: str, seconds: float) -> None:
        """Set a file's access and modification time."""
        self._ask("utime", (_inside(name), seconds))

    def path(self, name: str) -> str:
        """The absolute path inside the container, to hand to the candidate."""
        return f"{self._root}/{_inside(name)}"

    def _answer(self, op: str, name: str) -> Any:
        return self._ask(op, (name,))


def _inside(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise TaskAuthorError(f"scratch path {name!r} leaves the scratch folder", "use a relative path without '..'")
    return path.as_posix()
