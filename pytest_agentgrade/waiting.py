"""Waiting that is never silent for long: who is waited for is said at once, and about every half minute after that."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.escaping import escape

_AT_ONCE_SECONDS = 1.0
"""So long nobody wonders why nothing happens."""
_AGAIN_SECONDS = 30.0
_COMMAND_CHARACTERS = 60
_HINT = "wait for the other run, or give this one another device"


class Waiting:
    """Tells of one thing that may be waited for often: call :meth:`still` as often as you like."""

    def __init__(
        self, say: Callable[[str], None], *, told: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``told``: somebody has just said it."""
        self._say, self._clock = say, clock
        self._said_at = clock() if told else -math.inf

    def still(self, what: Callable[[], str]) -> None:
        """Say what is waited for, unless that was said less than half a minute ago."""
        if self._clock() - self._said_at >= _AGAIN_SECONDS:
            self._said_at = self._clock()
            self._say(f"waiting: {what()}")


@contextmanager
def held(
    path: Path, use: str, waiting: Waiting, *, timeout: float = math.inf, hint: str = _HINT
) -> Generator[None, None, None]:
    """Hold the lock file ``path``, which stands for the right to ``use`` ("uses device 0") something of this host.

    HostError, with ``hint`` for what to do, when another process keeps it for more than ``timeout`` seconds, or when
    the file cannot be used.
    """
    lock, started = FileLock(path), time.monotonic()
    while True:
        left = started + timeout - time.monotonic()
        try:
            lock.acquire(timeout=max(0.0, min(_AT_ONCE_SECONDS, left)))
            break
        except Timeout as error:
            if left <= _AT_ONCE_SECONDS:
                what = f"another run has held {path} for more than {timeout:.0f} s: {holder(path)} {use}"
                raise HostError(what, hint) from error
            waiting.still(lambda: f"{holder(path)} {use}{_since(started)}")
        except OSError as error:
            raise HostError(f"cannot use the lock {path}: {error}", "set TMPDIR to a folder of yours") from error
    try:
        yield
    finally:
        lock.release()


def holder(path: Path) -> str:
    """Which process holds a lock file, as far as the kernel tells: ``process 71 (pytest --agent-mode=mtp in /w)``."""
    try:
        inode = path.stat().st_ino
        pids = _holders(Path("/proc/locks").read_text(encoding="ascii", errors="replace").splitlines(), inode)
    except OSError:
        pids = []
    return _process(pids[0]) if pids else "another process"


def _holders(lines: Iterable[str], inode: int) -> list[int]:
    """Process ids of ``1: FLOCK  ADVISORY  WRITE 4711 fe:01:1234 0 EOF``; those that wait have ``->`` in them."""
    entries = [line.split() for line in lines if "->" not in line]
    return [int(e[4]) for e in entries if len(e) > 5 and e[5].endswith(f":{inode}") and e[4] not in ("0", "-1")]


def _process(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").rstrip("\0").split("\0")
        folder = str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return f"process {pid}"
    command = " ".join([Path(words[0]).name, *words[1:]])
    shown = command if len(command) <= _COMMAND_CHARACTERS else f"{command[:_COMMAND_CHARACTERS]}..."
    return f"process {pid} ({escape(shown)} in {escape(folder)})"


def _since(started: float) -> str:
    seconds = time.monotonic() - started
    return f" (for {seconds:.0f} s now)" if seconds > 2 * _AT_ONCE_SECONDS else ""
