"""Who made a container: enough to tell, later and from another process, whether its maker still lives."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LABEL = "agentgrade"
"""Carried by everything this package creates on the engine; the value is the owner's token."""
_PREFIX = f"{LABEL}."


@dataclass(frozen=True)
class Owner:
    """One process. A process id alone would lie: ids are used again, and machines start anew."""

    pid: int
    start_time: int
    """Clock ticks since boot, field 22 of ``/proc/<pid>/stat``."""
    boot_id: str
    host_id: str
    """Machine and process-id namespace: within one of these a process id means one thing."""

    @classmethod
    def current(cls) -> Owner:
        """The running process."""
        start_time = process_start_time(os.getpid())
        if start_time is None:
            raise OSError("/proc/self/stat cannot be read: Linux with a mounted /proc is needed")
        return cls(os.getpid(), start_time, _boot_id(), _host_id())

    @property
    def token(self) -> str:
        """The owner as one label value."""
        return f"{self.host_id}:{self.boot_id}:{self.pid}:{self.start_time}"

    @classmethod
    def from_token(cls, token: str) -> Owner | None:
        """The owner a label value names; None when the text is none of ours."""
        parts = token.split(":")
        if len(parts) != 4 or not (parts[2].isdecimal() and parts[3].isdecimal()):
            return None
        return cls(int(parts[2]), int(parts[3]), parts[1], parts[0])

    def is_gone(self) -> bool:
        """Whether the process is surely over; False whenever this machine cannot know."""
        if self.host_id != _host_id():
            return False
        if self.boot_id != _boot_id():
            return True
        return process_start_time(self.pid) != self.start_time and not _is_hidden(self.pid)


def labels(owner: Owner, run_id: str, role: str) -> dict[str, str]:
    """Labels for a container, volume or network that ``owner`` makes in run ``run_id`` as ``role``."""
    return {LABEL: owner.token, f"{_PREFIX}run": run_id, f"{_PREFIX}role": role}


def owner_of(given: Mapping[str, str] | None) -> Owner | None:
    """The owner named by an object's labels, None when it is not ours."""
    return Owner.from_token((given or {}).get(LABEL, ""))


def process_start_time(pid: int) -> int | None:
    """Field 22 of ``/proc/<pid>/stat``; None when there is no such process, only its zombie, or it is hidden from us.

    The second field, the command, may itself hold spaces and parentheses: fields are counted from the last ``)``.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    fields = text[text.rindex(")") + 1 :].split()
    state, start_time = fields[0], int(fields[19])
    return None if state in "ZX" else start_time


def _is_hidden(pid: int) -> bool:
    """Whether there is such a process of another user, which ``/proc``, mounted with ``hidepid``, does not show."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return not os.access(f"/proc/{pid}/stat", os.R_OK)
    return False


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _host_id() -> str:
    namespace = Path("/proc/self/ns/pid").stat().st_ino
    return f"{_machine_id()}-{namespace}"


def _machine_id() -> str:
    for source in (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id")):
        try:
            text = source.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
        if text and text != "uninitialized":
            return text
    return socket.gethostname().replace(":", "_")
