"""Logs and session files of an agent, taken out of its HOME: untrusted, bounded, stored as they are."""

from __future__ import annotations

import fnmatch
import io
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import IO, cast

MAX_FILE_BYTES = 4_000_000
MAX_BYTES = 16_000_000
MAX_FILES = 500


def keep_files(chunks: Iterable[bytes], patterns: tuple[str, ...]) -> bytes:
    """A ``.tar.gz`` of the regular files that match a pattern (``fnmatch`` on the path below HOME); empty if none does.

    ``chunks`` is HOME as a tar stream. What exceeds the limits, links and special files are left out: these files
    are for people to look at, nothing is concluded from them. A stream that is no tar ends what is kept.
    """
    if not patterns:
        return b""
    buffer, kept, total = io.BytesIO(), 0, 0
    with tarfile.open(fileobj=buffer, mode="w:gz", format=tarfile.GNU_FORMAT) as out:
        for name, data in _files(chunks):
            if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
                continue
            if kept >= MAX_FILES or total + len(data) > MAX_BYTES:
                break
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o644
            out.addfile(member, io.BytesIO(data))
            kept, total = kept + 1, total + len(data)
    return buffer.getvalue() if kept else b""


def _files(chunks: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """Path and content of each regular file of acceptable size and name."""
    reader = cast(IO[bytes], _Chunks(iter(chunks)))
    try:
        with closing(tarfile.open(fileobj=reader, mode="r|")) as tar:
            for member in tar:
                name = member.name.removeprefix("./")
                safe = name.isprintable() and not name.startswith("/") and ".." not in name.split("/")
                if member.isreg() and member.size <= MAX_FILE_BYTES and safe:
                    content = tar.extractfile(member)
                    if content is not None:
                        yield name, content.read()
    except (tarfile.TarError, UnicodeError):
        return  # a name made to be unreadable, or a stream cut short: what came before it is kept


class _Chunks:
    """A readable file made of pieces."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._left = b""

    def read(self, size: int) -> bytes:
        while len(self._left) < size and (piece := next(self._chunks, None)) is not None:
            self._left += piece
        data, self._left = self._left[:size], self._left[size:]
        return data
