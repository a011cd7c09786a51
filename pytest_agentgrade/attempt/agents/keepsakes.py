"""Logs and session files of an agent, taken out of its HOME: untrusted, bounded, stored as they are."""

from __future__ import annotations

import fnmatch
import io
import tarfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import IO, cast

from pytest_agentgrade.errors import HostError

MAX_FILE_BYTES = 4_000_000
MAX_BYTES = 16_000_000
MAX_FILES = 500
MAX_STREAM_BYTES = 1 << 30
"""Of HOME as a tar stream, what is not kept included: files with holes may be larger than any disk."""
MAX_SECONDS = 60.0


def keep_files(
    chunks: Generator[bytes], patterns: tuple[str, ...], *, clock: Callable[[], float] = time.monotonic
) -> bytes:
    """A ``.tar.gz`` of the regular files that match a pattern (``fnmatch`` on the path below HOME); empty if none does.

    ``chunks`` is HOME as a tar stream, closed behind its end. What exceeds the limits, links and special files are left
    out: these files are for people to look at, nothing is concluded from them. A stream that is no tar, that cannot be
    read or goes on for too long ends what is kept: no agent spoils its attempt by what it leaves there.
    """
    if not patterns:
        return b""
    buffer, kept, total = io.BytesIO(), 0, 0
    with tarfile.open(fileobj=buffer, mode="w:gz", format=tarfile.GNU_FORMAT) as out:
        for name, data in _files(chunks, clock):
            if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
                continue
            if kept >= MAX_FILES or total + len(data) > MAX_BYTES:
                break
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o644
            out.addfile(member, io.BytesIO(data))
            kept, total = kept + 1, total + len(data)
    return buffer.getvalue() if kept else b""


def _files(chunks: Generator[bytes], clock: Callable[[], float]) -> Iterator[tuple[str, bytes]]:
    """Path and content of each regular file of acceptable size and name."""
    with closing(chunks):
        reader = cast(IO[bytes], _Chunks(chunks, clock))
        try:
            with closing(tarfile.open(fileobj=reader, mode="r|")) as tar:
                for member in tar:
                    name = member.name.removeprefix("./")
                    safe = name.isprintable() and not name.startswith("/") and ".." not in name.split("/")
                    if member.isreg() and member.size <= MAX_FILE_BYTES and safe:
                        content = tar.extractfile(member)
                        if content is not None:
                            yield name, content.read()
        except (tarfile.TarError, UnicodeError, EOFError, HostError):
            return  # a name made to be unreadable, a stream cut short or without end: what came before it is kept


class _Chunks:
    """A readable file made of pieces. Raises EOFError beyond the limits, and when it is read on behind its end."""

    def __init__(self, chunks: Iterator[bytes], clock: Callable[[], float]) -> None:
        self._chunks = chunks
        self._clock = clock
        self._deadline = clock() + MAX_SECONDS
        self._allowed = MAX_STREAM_BYTES
        self._left = b""
        self._ended = False

    def read(self, size: int) -> bytes:
        while len(self._left) < size and (piece := next(self._chunks, None)) is not None:
            self._left += piece
            self._allowed -= len(piece)
            if self._allowed < 0 or self._clock() > self._deadline:
                raise EOFError
        data, self._left = self._left[:size], self._left[size:]
        # tarfile skips a file of 2**60 bytes piece by piece, at the end of the stream as well.
        if self._ended and not data:
            raise EOFError
        self._ended = not data
        return data
