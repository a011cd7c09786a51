"""Where the locks and temporary files of one user lie on this host."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from pytest_agentgrade.errors import HostError


def locks_folder() -> Path:
    """A folder of ours alone below the temporary one, where anybody may put what another one is about to open.

    Raises HostError when it cannot be made or is somebody else's.
    """
    folder = Path(tempfile.gettempdir()) / f"agentgrade-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise HostError(f"cannot make our folder {folder}: {error}", "set TMPDIR") from error
    if status.st_uid != os.getuid() or not stat.S_ISDIR(status.st_mode):
        raise HostError(f"{folder} is no folder of yours", "remove it or set TMPDIR")
    return folder
