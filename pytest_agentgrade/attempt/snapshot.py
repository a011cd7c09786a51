"""The tree that the agent left, as a submission."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Protocol

from pytest_agentgrade.errors import SubmissionRefused, WorkspaceUnreadable
from pytest_agentgrade.escaping import escape_bytes
from pytest_agentgrade.submission.intake_tar import read_tar
from pytest_agentgrade.submission.paths import IntakeLimits
from pytest_agentgrade.submission.tree import Submission

_KINDS = {"l": "a symbolic link", "p": "a fifo", "s": "a socket", "b": "a device", "c": "a device"}


class Snapshotable(Protocol):
    """What a snapshot needs of a :class:`~pytest_agentgrade.sandbox.volume.WorkspaceVolume`."""

    def special_files(self) -> tuple[tuple[str, bytes], ...]:
        """(type letter of ``find``, raw path) of what is neither file nor folder."""

    def read_tar(self) -> Generator[bytes]:
        """Everything as a tar stream, without the top-level ``.git``."""


def take(volume: Snapshotable, limits: IntakeLimits | None = None) -> Submission:
    """Read the workspace once the agent's container is dead; nothing in it is run, no link followed.

    Raises SubmissionRefused naming what is no plain file, and for a tree that cannot be read at all: else an agent
    could void its attempt. HostError when the sidecar fails.
    """
    try:
        _refuse_special_files(volume)
        with contextlib.closing(volume.read_tar()) as chunks:
            return read_tar(chunks, limits)
    except WorkspaceUnreadable as error:
        raise SubmissionRefused(f"the workspace cannot be read: {error.message}") from error


def _refuse_special_files(volume: Snapshotable) -> None:
    special = volume.special_files()  # tar skips sockets without a word
    if special:
        kind, path = special[0]
        more = f" (and {len(special) - 1} more of such)" if len(special) > 1 else ""
        what = _KINDS.get(kind, "no regular file")
        raise SubmissionRefused(f"'{escape_bytes(path, 300)}' is {what}{more}; only regular files are accepted")
