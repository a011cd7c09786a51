"""Patches made elsewhere: which file answers which attempt.

``DIR/<task>.patch`` answers every attempt of the task; ``DIR/<mode>/<task>.patch`` those of one mode;
``DIR/<mode>/<task>-<seed>.patch`` one seed; ``DIR/<mode>/<task>-<seed>-r<N>.patch`` one repeat. The most exact wins.
``.diff`` works as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_agentgrade.errors import SettingsError

_ENDINGS = (".patch", ".diff")


@dataclass(frozen=True)
class PatchSet:
    """A folder of patches."""

    folder: Path

    def __post_init__(self) -> None:
        if not self.folder.is_dir():
            raise SettingsError(f"--agent-patches={self.folder} is not a folder", "name a folder with TASK.patch files")

    def find(self, task: str, mode: str, seed: int, repeat: int) -> Path | None:
        """The patch for an attempt, or None."""
        repeat_name = f"{mode}/{task}-{seed}-r{repeat}"
        stems = [repeat_name, *([f"{mode}/{task}-{seed}"] if repeat == 0 else []), f"{mode}/{task}", task]
        paths = (self.folder / f"{stem}{ending}" for stem in stems for ending in _ENDINGS)
        return next((path for path in paths if path.is_file()), None)
