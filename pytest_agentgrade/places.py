"""Where the user wants a file: in a folder that is there."""

from __future__ import annotations

from pathlib import Path

from pytest_agentgrade.errors import SettingsError


def require_folder(file: Path, named_by: str) -> None:
    """SettingsError when the folder of ``file`` is not there: a typing error must not make new places."""
    if not file.parent.is_dir():
        raise SettingsError(f"{named_by}={file}: there is no folder {file.parent}", "make it, or name another file")
