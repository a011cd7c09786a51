"""Where pytest must not stand when it grades: among files that a candidate could have written."""

from __future__ import annotations

from pathlib import Path

from pytest_agentgrade.errors import SettingsError


def is_workspace(folder: Path) -> bool:
    """Whether a folder is the initial workspace of a task."""
    return folder.name == "workspace" and (folder.parent / "task.toml").is_file()


def refuse_inside(*places: Path) -> None:
    """Raise SettingsError for a place inside a workspace, or inside a stored attempt where somebody unpacked one.

    pytest would load the conftest.py, pytest.ini and plugins it finds there.
    """
    for place in places:
        for folder in (place, *place.parents):
            if is_workspace(folder) or (folder / "1-workspace.json").is_file():
                raise SettingsError(
                    f"{place} lies inside {folder}, which holds a candidate's files",
                    "start pytest elsewhere: its configuration must not be the candidate's",
                )
