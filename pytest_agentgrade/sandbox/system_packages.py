"""Packages of the operating system, on those that have apt."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping

from pytest_agentgrade.errors import HostError

SYSTEM_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"))

Log = Callable[[str], None]


def find_program(name: str) -> str | None:
    """Where a program lies, the folders of the system's own included; None when it is not there."""
    return shutil.which(name, path=SYSTEM_PATH)


def can_install() -> bool:
    """Whether this is an apt system, and we are root."""
    return os.geteuid() == 0 and find_program("apt-get") is not None


def install_packages(packages: tuple[str, ...], log: Log, by_hand: str) -> None:
    """Install with apt, as root. Raises HostError, with ``by_hand`` for a hint, when that fails."""
    log(f"installing {' and '.join(packages)} with apt-get")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    run_program(("apt-get", "update", "-qq"), by_hand, quiet)
    run_program(("apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages), by_hand, quiet)


def run_program(command: tuple[str, ...], by_hand: str, extra: Mapping[str, str] | None = None) -> None:
    """Run to its end without input. Raises HostError with the last lines it wrote when it fails."""
    environment = {**os.environ, "PATH": SYSTEM_PATH, **(extra or {})}
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise HostError(f"cannot run `{command[0]}`: {error}", by_hand) from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise HostError(f"`{' '.join(command)}` failed: {'; '.join(said)}", by_hand)
