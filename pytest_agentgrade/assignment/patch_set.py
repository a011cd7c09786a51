"""Patches made elsewhere: which file answers which attempt.

``DIR/<task>.patch`` answers every attempt of the task; ``DIR/<mode>/<task>.patch`` those of one mode;
``DIR/<mode>/<task>-<seed>.patch`` one seed; ``DIR/<mode>/<task>-<seed>-r<N>.patch`` one repeat. The most exact wins.
``.diff`` works as well.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_agentgrade.errors import SettingsError

_ENDINGS = (".patch", ".diff")
_OF_MODE = re.compile(r"(?P<task>.+?)-(?P<seed>\d+)(-r\d+)?")
_LIKENESS = 0.8
_MANY = 5
"""So many names are told, and that there are more."""


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

    def strays(self, modes: Sequence[str], tasks: Collection[str], used: Iterable[Path]) -> list[str]:
        """Patches that no attempt of these modes can ever take, below the folder: their names are no task's."""
        taken = set(used)
        places = [(self.folder, False), *((self.folder / mode, True) for mode in modes)]
        return [
            path.relative_to(self.folder).as_posix()
            for place, of_mode in places
            for path in _patches(place)
            if path not in taken and _task_of(path.stem, of_mode) not in tasks
        ]

    def refuse_mistakes(self, strays: Iterable[str], tasks: Collection[str], found: Collection[str]) -> None:
        """SettingsError for a stray that is named nearly like a task which has no patch."""
        for stray in strays:
            path = Path(stray)
            name = _task_of(path.stem, len(path.parts) > 1)
            near = difflib.get_close_matches(name, [task for task in tasks if task not in found], 1, _LIKENESS)
            if near:
                what = f"the patch {self.folder / stray} is named like no task"
                raise SettingsError(what, f"did you mean {path.stem.replace(name, near[0])}{path.suffix}?")

    def what_to_write(self, modes: Sequence[str], strays: Sequence[str]) -> str:
        """A remedy where no task has a patch: what lies there, and how it would have to be named."""
        others = [path.name for path in sorted(self.folder.iterdir()) if path.is_dir() and _patches(path)]
        if unasked := [name for name in others if name not in modes]:
            return f"it has patches in {few(unasked)}: name them with --agent-mode={','.join(unasked)}"
        if seeds := self._seeds(modes, strays):
            return f"it has patches for other seeds: name them with --agent-seed={','.join(map(str, seeds))}"
        there = f"there is {few(strays)}: " if strays else ""
        return f"{there}name the files TASK.patch"

    def _seeds(self, modes: Sequence[str], strays: Sequence[str]) -> list[int]:
        """The seeds that patches of these modes are named for."""
        paths = [path for mode in modes for path in _patches(self.folder / mode)]
        names = [path.stem for path in paths if path.relative_to(self.folder).as_posix() not in strays]
        return sorted({int(match["seed"]) for match in map(_OF_MODE.fullmatch, names) if match})


def _patches(folder: Path) -> list[Path]:
    return sorted(path for ending in _ENDINGS for path in folder.glob(f"*{ending}") if path.is_file())


def _task_of(stem: str, of_mode: bool) -> str:
    """The part of a name that stands for a task: only below a mode's folder a seed may follow."""
    match = _OF_MODE.fullmatch(stem) if of_mode else None
    return match["task"] if match else stem


def few(names: Sequence[str]) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(names) - _MANY} more" if len(names) > _MANY else ""
    return ", ".join(names[:_MANY]) + more
