"""Temporary folders that bear their owner's name: what a killed process leaves can be told and removed."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.sandbox.locks import locks_folder
from pytest_agentgrade.sandbox.owner import Owner

_DIGITS = 6
"""Of a digest: the path of a socket below such a folder has to stay under 108 bytes."""


def make_folder() -> Path:
    """A new folder of ours alone, for the caller to remove. Raises HostError."""
    try:
        return Path(tempfile.mkdtemp(prefix=_name(Owner.current()), dir=_place()))
    except OSError as error:
        raise HostError(f"cannot make a temporary folder: {error}", "make room, or set TMPDIR") from error


@contextmanager
def temporary_folder() -> Generator[Path, None, None]:
    """A folder that is gone afterwards."""
    folder = make_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_folders(owner: Owner) -> tuple[Path, ...]:
    """Remove the folders of this process, which is over; returns which."""
    return _remove_where(lambda found: found == owner)


def sweep_folders() -> tuple[Path, ...]:
    """Remove the folders of all processes that are surely gone; returns which."""
    return _remove_where(Owner.is_gone)


def _remove_where(condition: Callable[[Owner], bool]) -> tuple[Path, ...]:
    here = Owner.current()
    named = [(folder, _owner_of(folder.name, here)) for folder in sorted(_place().iterdir())]
    chosen = tuple(folder for folder, owner in named if owner is not None and condition(owner))
    for folder in chosen:
        shutil.rmtree(folder, ignore_errors=True)
    return chosen


def _place() -> Path:
    folder = locks_folder() / "t"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _name(owner: Owner) -> str:
    """Machine and boot in a few letters, process id, start time: what an owner is told by, and short."""
    place = hashlib.sha256(f"{owner.host_id} {owner.boot_id}".encode()).hexdigest()[:_DIGITS]
    return f"{place}-{owner.pid}-{owner.start_time}-"


def _owner_of(name: str, here: Owner) -> Owner | None:
    """The owner a folder's name tells; None for one of another machine or boot, whom we cannot look up."""
    parts = name.split("-", 3)
    if len(parts) != 4 or not (parts[1].isdecimal() and parts[2].isdecimal()):
        return None
    owner = Owner(int(parts[1]), int(parts[2]), here.boot_id, here.host_id)
    return owner if name.startswith(_name(owner)) else None
