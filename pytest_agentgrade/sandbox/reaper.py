"""Cleaning up after this process however it dies, SIGKILL included.

A :class:`Reaper` starts a small process of its own session that reads a pipe. The kernel closes our end when we die,
and the reaper then removes what we own: containers, volumes, networks, temporary folders and registered processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.sandbox.owner import Owner, process_start_time
from pytest_agentgrade.sandbox.temporary import remove_folders

_POLL_SECONDS = 1.0
_PASSES = (0.0, 1.0, 3.0)
"""Pauses before each round of removal: an engine may still be making what was asked for just before the death."""


class Reaper:
    """Context manager; on normal exit the reaper is told to go and removes nothing."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: int | None = None

    def watch(self, pid: int) -> None:
        """Have process ``pid`` of this machine killed when we die; its start time guards against a reused id."""
        start_time = process_start_time(pid)
        if start_time is not None:
            self._write({"kill": [pid, start_time]})

    def __enter__(self) -> Self:
        theirs, self._pipe = os.pipe()  # neither end is inherited by programs that we start
        command = [sys.executable, "-P", "-m", "pytest_agentgrade.sandbox.reaper", self._owner.token]
        try:
            # Its output must not keep anybody's pipe open, nor a signal to our process group end it.
            self._process = subprocess.Popen(
                command,
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(_package_path())},
                cwd="/",
            )
        except OSError as error:
            self._close_pipe()
            raise HostError(f"cannot start the process that cleans up after this one: {error}") from error
        finally:
            os.close(theirs)
        os.register_at_fork(after_in_child=self._close_pipe)  # a forked child would keep the pipe open after our death
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None or self._pipe is None:
            return
        with contextlib.suppress(BrokenPipeError):
            os.write(self._pipe, b'{"bye": true}\n')
        self._close_pipe()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _write(self, message: dict[str, Any]) -> None:
        with self._lock:
            if self._pipe is None:
                raise HostError("the reaper is not running")
            try:
                os.write(self._pipe, json.dumps(message).encode() + b"\n")
            except BrokenPipeError as error:
                raise HostError("the process that cleans up after this one has died") from error

    def _close_pipe(self) -> None:
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            os.close(pipe)


def _package_path() -> list[str]:
    """Where the reaper finds this package, which need not be installed."""
    home = str(Path(__file__).resolve().parents[2])
    return [home, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]


def main(token: str) -> None:
    """The reaper's own program: read until goodbye or the owner's death, then clean up."""
    owner = Owner.from_token(token)
    if owner is None:
        raise SystemExit(f"not an owner: {token!r}")
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    messages, said_goodbye = _listen(owner)
    if not said_goodbye:
        _clean_up(owner, messages)


def _listen(owner: Owner) -> tuple[list[dict[str, Any]], bool]:
    """All whole messages until the pipe closes or the owner is gone, and whether the last was a goodbye."""
    buffer = b""
    while True:
        readable, _, _ = select.select([0], [], [], _POLL_SECONDS)
        if readable:
            data = os.read(0, 65_536)
            buffer += data
            if not data:
                break
        elif owner.is_gone():
            break
    messages = [json.loads(line) for line in buffer.splitlines(keepends=True) if line.endswith(b"\n")]
    return messages, bool(messages) and "bye" in messages[-1]


def _clean_up(owner: Owner, messages: list[dict[str, Any]]) -> None:
    for message in messages:
        if "kill" in message:
            _kill(*message["kill"])
    with contextlib.suppress(HostError, OSError):
        remove_folders(owner)
    for pause in _PASSES:
        time.sleep(pause)
        _remove_from_engine(owner)


def _kill(pid: int, start_time: int) -> None:
    if process_start_time(pid) == start_time:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _remove_from_engine(owner: Owner) -> None:
    """What cannot be removed now falls to the next run's sweep."""
    # Imported late: while its owner lives, the reaper stays small.
    from pytest_agentgrade.sandbox.engine import connect
    from pytest_agentgrade.sandbox.sweep import remove_owned

    with contextlib.suppress(HostError):
        client = connect()
        try:
            remove_owned(client, owner)
        finally:
            client.close()


if __name__ == "__main__":
    main(sys.argv[1])
