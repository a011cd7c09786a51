"""A tar stream of the agent's workspace, read member by member on the host; nothing touches the disk."""

from __future__ import annotations

import tarfile
import time
from collections.abc import Callable, Iterable, Iterator

from pytest_agentgrade.errors import SubmissionRefused
from pytest_agentgrade.escaping import escape
from pytest_agentgrade.submission.paths import IntakeLimits, check_path, left_out, left_out_notes, make_submission
from pytest_agentgrade.submission.tree import Origin, Submission, TreeFile

_OVERHEAD_PER_MEMBER = 3 * tarfile.BLOCKSIZE
"""Header, padding and a long name."""
_OVERHEAD = 128 * 1024
_KINDS = {
    tarfile.LNKTYPE: "a hard link", tarfile.SYMTYPE: "a symbolic link", tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device", tarfile.FIFOTYPE: "a fifo",
}  # fmt: skip


def read_tar(
    chunks: Iterable[bytes], limits: IntakeLimits | None = None, *, clock: Callable[[], float] = time.monotonic
) -> Submission:
    """The tree in a tar stream, such as ``WorkspaceVolume.read_tar`` gives.

    Memory stays below ``limits.bytes`` plus a little. The top-level ``.git`` is dropped, compiled code and caches
    too, with a note. Raises SubmissionRefused, which names the (escaped) path, for everything that is not a regular
    file or folder of a plain name, for what exceeds the limits, and for what is no tar stream.
    """
    limits = limits or IntakeLimits()
    source = _Source(chunks, limits, clock)
    try:
        # `r|` never seeks: each member is read or skipped once, in order.
        with tarfile.open(fileobj=source, mode="r|", format=tarfile.GNU_FORMAT) as tar:  # type: ignore[call-overload]
            submission = _read_members(tar, limits)
        source.drain()
        return submission
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as error:
        raise SubmissionRefused(f"not a readable tar stream: {escape(str(error), 200)}") from error


def _read_members(tar: tarfile.TarFile, limits: IntakeLimits) -> Submission:
    files: dict[str, TreeFile] = {}
    dropped: list[str] = []
    saw_git = False
    for count, (path, member) in enumerate(_members(tar), start=1):
        if count > limits.files:
            raise SubmissionRefused(f"more than {limits.files} files and folders")
        if path == ".git" or path.startswith(".git/"):
            saw_git = True
            continue
        check_path(path, limits)
        if member.isdir():
            continue
        _check_regular(path, member, limits)
        if path in files:
            raise SubmissionRefused(f"'{escape(path)}' comes twice")
        if left_out(path):
            dropped.append(path)
        else:
            files[path] = TreeFile(_read(tar, member, path), executable=bool(member.mode & 0o100))
    notes = ("the workspace's own .git was left out",) if saw_git else ()
    return make_submission(files, Origin.AGENT, limits, (*notes, *left_out_notes(dropped)))


def _members(tar: tarfile.TarFile) -> Iterator[tuple[str, tarfile.TarInfo]]:
    """(path, member) without the root folder itself; paths lose the leading ``./`` that tar gives them."""
    for member in tar:
        path = member.name.removeprefix("./")
        if path != "." or not member.isdir():
            yield path, member


def _check_regular(path: str, member: tarfile.TarInfo, limits: IntakeLimits) -> None:
    if member.type in _KINDS:
        raise SubmissionRefused(f"'{escape(path)}' is {_KINDS[member.type]}; only regular files are accepted")
    if not member.isreg() or member.issparse():
        raise SubmissionRefused(f"'{escape(path)}' is of no kind that is accepted")
    # What is left out is skipped unread; the limit of the stream holds for it.
    if member.size < 0 or (member.size > limits.file_bytes and not left_out(path)):
        raise SubmissionRefused(f"'{escape(path)}' has {member.size} bytes, {limits.file_bytes} are allowed")


def _read(tar: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> bytes:
    content = tar.extractfile(member)
    data = content.read() if content is not None else b""
    if len(data) != member.size:
        raise SubmissionRefused(f"the tar stream ends within '{escape(path)}'")
    return data


class _Source:
    """The stream as a file that ends an attempt to read too much or too long."""

    def __init__(self, chunks: Iterable[bytes], limits: IntakeLimits, clock: Callable[[], float]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""
        self._left = limits.bytes + limits.files * _OVERHEAD_PER_MEMBER + _OVERHEAD
        self._limits = limits
        self._clock = clock
        self._deadline = clock() + limits.seconds
        self._ended = False

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes, fewer at the end. Raises SubmissionRefused beyond the limits, EOFError behind it."""
        parts: list[bytes] = []
        missing = size
        while missing and self._fill():
            parts.append(self._rest[:missing])
            self._rest = self._rest[missing:]
            missing -= len(parts[-1])
        if self._ended and not parts:  # tarfile would skip 2**60 bytes that are not there piece by piece
            raise EOFError("it ends too early")
        self._ended = not parts
        return b"".join(parts)

    def drain(self) -> None:
        """Read the padding behind the archive, so that whoever feeds the stream gets to its end."""
        while self._fill():
            self._rest = b""

    def _fill(self) -> bool:
        """Whether there is more."""
        while not self._rest:
            if self._clock() > self._deadline:
                raise SubmissionRefused(f"reading the workspace took more than {self._limits.seconds:g} s")
            chunk = next(self._chunks, None)
            if chunk is None:
                return False
            self._left -= len(chunk)
            if self._left < 0:
                raise SubmissionRefused(f"the workspace holds more than {self._limits.bytes} bytes")
            self._rest = chunk
        return True
