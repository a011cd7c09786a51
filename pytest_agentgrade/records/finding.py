"""Which run is meant: one named by its folder or by its name alone, the newest one, the newest of each mode."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_agentgrade.errors import AgentGradeError, SettingsError
from pytest_agentgrade.records.store import RUNS_FOLDER, RunStore


def find_run(given: Path, rootdir: Path) -> Path:
    """``given`` where it exists, else the run of that name below ``rootdir``; SettingsError names the newest ones."""
    if given.exists():
        return given
    named = rootdir / RUNS_FOLDER / given
    if (named / "run.json").is_file():
        return named
    there = [folder.name for folder in _newest_first(rootdir)][:3]
    hint = f"the newest runs there: {', '.join(there)}" if there else "give the path of its folder"
    raise SettingsError(f"{given} is no path, and no run in {rootdir / RUNS_FOLDER}", hint)


def newest_run(rootdir: Path) -> Path:
    """The run below ``rootdir`` that was begun last, of those that got as far as an attempt if there are any.

    SettingsError when there is none.
    """
    folders = _newest_first(rootdir)
    for folder in [one for one in folders if any((one / "attempts").glob("*/*"))] or folders:
        return folder
    raise SettingsError(f"there is no run in {rootdir / RUNS_FOLDER}", "name the folder of one, or run pytest first")


def newest_runs(rootdir: Path, modes: Sequence[str]) -> list[Path]:
    """For each mode the newest run below ``rootdir`` with a graded attempt of it; SettingsError without one."""
    found: list[Path] = []
    for mode in modes:
        folder = _newest_of(rootdir, mode)
        if folder is None:
            hint = f"pytest --agent-mode={','.join(modes)}"
            hint += ": one run of all of them has the same inputs for each" if len(modes) > 1 else ""
            raise SettingsError(f"no run of mode {mode!r} in {rootdir / RUNS_FOLDER}", hint)
        if folder not in found:
            found.append(folder)
    return found


def runs_to_compare(rootdir: Path, usual: Sequence[str], asked: Sequence[str]) -> list[Path]:
    """The newest run of each of the ``usual`` modes; where one has none, of those that are meant instead.

    ``asked`` are the ``MODE.METRIC`` names of gates. Meant are the modes that gates name if all of them have runs, or
    without a gate all that have runs if these are several. SettingsError when nothing is meant.
    """
    there = [] if all(_newest_of(rootdir, mode) for mode in usual) else graded_modes(rootdir)
    named = [mode for mode in there if any(name.startswith(f"{mode}.") for name in asked)]
    missing = [mode for mode in usual if mode not in there and any(name.startswith(f"{mode}.") for name in asked)]
    meant = named if asked else there
    if not there or missing or not meant:
        return newest_runs(rootdir, usual)
    if not asked and len(there) == 1:
        alone = f"agentgrade compare --mode {there[0]}"
        both = f"pytest --agent-mode={','.join(usual)}"
        raise SettingsError(f"only mode {there[0]!r} has a run in {rootdir / RUNS_FOLDER}", f"{both}, or {alone}")
    return newest_runs(rootdir, sorted(meant, key=lambda mode: mode not in usual[:1]))


def graded_modes(rootdir: Path) -> list[str]:
    """All modes with a graded attempt below ``rootdir``, those of the newest run first, each run in plan order."""
    found: dict[str, None] = {}
    for folder in _newest_first(rootdir):
        found |= dict.fromkeys(record.key.mode for record in RunStore(folder).records() if record.complete)
    return list(found)


def shown_path(path: Path) -> Path:
    """``path`` from where one stands, if it lies below."""
    absolute, here = path.absolute(), Path.cwd()
    return absolute.relative_to(here) if absolute.is_relative_to(here) else absolute


def _newest_of(rootdir: Path, mode: str) -> Path | None:
    return next((folder for folder in _newest_first(rootdir) if _has_graded(folder, mode)), None)


def _has_graded(folder: Path, mode: str) -> bool:
    return any(record.complete and record.key.mode == mode for record in RunStore(folder).records())


def _newest_first(rootdir: Path) -> list[Path]:
    begun: list[tuple[float, Path]] = []
    for run_file in (rootdir / RUNS_FOLDER).glob("*/run.json"):
        try:
            begun.append((RunStore(run_file.parent).run().created_at, run_file.parent))
        except AgentGradeError:
            # Written by another version: `agentgrade report` on that folder says what is wrong with it.
            continue
    return [folder for _, folder in sorted(begun, reverse=True)]
