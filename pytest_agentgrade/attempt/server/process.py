"""A child process that is watched all its life and cannot outlive this one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_agentgrade.assignment.secrets import hide, hide_in_bytes, secret_values
from pytest_agentgrade.errors import HostError
from pytest_agentgrade.escaping import escape_bytes

_GUARD = Path(__file__).with_name("guard.py")
_TAIL_BYTES = 16_384


class WatchedProcess:
    """Starts ``command`` in its own session, output appended to ``log_path``; a thread waits for its end.

    The kernel's death signal is tied to the *thread* that forks, so the watching thread is the one that does: it lives
    exactly as long as the child.
    """

    def __init__(self, command: Sequence[str], log_path: Path, env: Mapping[str, str]) -> None:
        self.log_path = log_path
        self.ended = threading.Event()
        """Set as soon as the process has ended, for whatever reason."""
        self._started = threading.Event()
        self._trouble: OSError | None = None
        self._popen: subprocess.Popen[bytes] | None = None
        self._guarded = [sys.executable, "-I", "-S", str(_GUARD), str(os.getpid()), *command]
        self._env = dict(env)
        self._secrets = secret_values(command)
        threading.Thread(target=self._live, name=f"watch {command[0]}", daemon=True).start()
        self._started.wait()
        if self._popen is None:
            raise HostError(f"cannot start {command[0]}: {self._trouble}")
        self.pid: int = self._popen.pid

    def exit_status(self) -> int | None:
        """None while it runs; its exit code, or minus the number of the signal that killed it."""
        return self._popen.returncode if self._popen is not None and self.ended.is_set() else None

    def stop(self, grace: float = 10.0) -> None:
        """SIGTERM, after ``grace`` seconds SIGKILL, to the whole process group; returns when it has ended.

        Keys among its flags that it has written into its log are hidden there.
        """
        if not self.ended.is_set():
            self._signal(signal.SIGTERM)
            if not self.ended.wait(grace):
                self._signal(signal.SIGKILL)
                self.ended.wait()
        self._hide_secrets()

    def _hide_secrets(self) -> None:
        if not self._secrets or not self.log_path.is_file():
            return
        said = self.log_path.read_bytes()
        if (shown := hide_in_bytes(said, self._secrets)) != said:
            self.log_path.write_bytes(shown)

    def log_tail(self, lines: int = 15) -> str:
        """The last lines of its output, escaped."""
        return hide(log_tail(self.log_path, lines), self._secrets)

    def peak_rss_bytes(self) -> int | None:
        """Largest resident memory so far; None when the process is gone."""
        try:
            status = Path(f"/proc/{self.pid}/status").read_text()
        except OSError:
            return None
        peaks = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
        return int(peaks[0]) * 1024 if peaks else None

    def _live(self) -> None:
        try:
            with self.log_path.open("ab") as log:
                self._popen = subprocess.Popen(
                    self._guarded,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=self._env,
                    start_new_session=True,
                )
        except OSError as error:
            self._trouble = error
            return
        finally:
            self._started.set()
        # Not reaped yet, so that the group's number cannot have been given to another one.
        os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOWAIT)
        self._signal(signal.SIGKILL)
        self._popen.wait()
        self.ended.set()

    def _signal(self, number: signal.Signals) -> None:
        if self._popen is not None and self._popen.returncode is None:
            try:
                os.killpg(self._popen.pid, number)
            except ProcessLookupError:
                return


def log_tail(path: Path, lines: int = 15) -> str:
    """The last ``lines`` lines of a log file, escaped; empty when there is none."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            last = log.read().splitlines()[-lines:]
    except OSError:
        return ""
    return escape_bytes(b"\n".join(last), _TAIL_BYTES, keep_newlines=True)
