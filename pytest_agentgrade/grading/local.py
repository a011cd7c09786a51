"""A driver as a plain process: for the task author's own solutions, which need no cage."""

from __future__ import annotations

import os
import platform
import select
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.grading.program import command
from pytest_agentgrade.grading.transport import TransportEnd, Who
from pytest_agentgrade.sandbox.temporary import make_folder

_DATA_BYTES = 128 * 1024 * 1024
"""RLIMIT_DATA counts what is mapped (8 MB for the stack of each thread), a container only what is touched."""


class LocalTransport:
    """One trusted driver process in temporary folders."""

    def __init__(self) -> None:
        with ExitStack() as undo:
            try:
                self._folder = make_folder()
                undo.callback(shutil.rmtree, self._folder, ignore_errors=True)
                self.scratch = str(self._folder / "scratch")
                self._process = self._start()
            except OSError as error:
                raise HostError(f"cannot start a process to try a solution in: {error}") from error
            undo.pop_all()
        self._in, self._out = self._pipes()

    def _start(self) -> subprocess.Popen[bytes]:
        for name in ("work", "scratch"):
            (self._folder / name).mkdir()
        return subprocess.Popen(
            self._command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            env={"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": self.scratch},
            start_new_session=True,
            bufsize=0,
        )

    def _command(self) -> list[str]:
        folders = str(self._folder / "work"), self.scratch
        return command(*folders, str(_DATA_BYTES), python=sys.executable, version=platform.python_version())

    def _pipes(self) -> tuple[int, int]:
        assert self._process.stdin is not None and self._process.stdout is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        return self._process.stdin.fileno(), self._process.stdout.fileno()

    def send(self, data: bytes, timeout: float) -> None:
        """Write all of ``data``."""
        deadline = time.monotonic() + timeout
        rest = memoryview(data)
        while rest:
            if not select.select([], [self._in], [], max(0.0, deadline - time.monotonic()))[1]:
                raise TimeoutError
            rest = rest[os.write(self._in, rest) :]

    def receive(self, timeout: float) -> bytes:
        """Some bytes of the driver's, ``b""`` at the end."""
        if not select.select([self._out], [], [], timeout)[0]:
            raise TimeoutError
        return os.read(self._out, 1 << 16)

    def ending(self) -> TransportEnd:
        """Whose doing the end was: always the candidate's, there is no cage that could break."""
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return TransportEnd(Who.CANDIDATE, "it closed its output")
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return TransportEnd(Who.CANDIDATE, f"its process ended {how}")

    def complaint(self) -> str:
        """Nothing: stderr goes nowhere."""
        return ""

    def close(self) -> None:
        """Kill the process's whole session and remove its folders."""
        if self._process.returncode is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        shutil.rmtree(self._folder, ignore_errors=True)
