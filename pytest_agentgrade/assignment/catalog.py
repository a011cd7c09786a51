"""Where tasks and their checks lie: in the project one stands in, or bundled with the package."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest_agentgrade
from pytest_agentgrade.assignment.settings import Settings, suggest
from pytest_agentgrade.assignment.task import Task, load_task
from pytest_agentgrade.errors import SettingsError

_PACKAGE = Path(pytest_agentgrade.__file__).parent
_TASKS, _CHECKS = "task_fixtures", "hidden_checks"


def folders(settings: Settings, rootdir: Path) -> tuple[Path, Path]:
    """The folders of task fixtures and of hidden checks: from the settings, below ``rootdir``, or bundled."""
    if settings.tasks_dir or settings.checks_dir:
        if not (settings.tasks_dir and settings.checks_dir):
            raise SettingsError("only one of tasks_dir and checks_dir is set", "set both")
        chosen = _folder(rootdir, settings.tasks_dir), _folder(rootdir, settings.checks_dir)
        for folder in chosen:
            if not folder.is_dir():
                raise SettingsError(f"{folder} is not a folder", "correct tasks_dir and checks_dir")
        return chosen
    for base in (rootdir, _PACKAGE / "bundled", _PACKAGE.parent):
        if (base / _TASKS).is_dir() and (base / _CHECKS).is_dir():
            return base / _TASKS, base / _CHECKS
    raise SettingsError("no task_fixtures/ and hidden_checks/ found", "reinstall pytest-agentgrade")


def _folder(rootdir: Path, path: str) -> Path:
    """Written as pytest writes paths: it finds the checks by comparing them."""
    return Path(os.path.abspath(rootdir / Path(path).expanduser()))  # noqa: PTH100 - resolve() follows links


def task_names(tasks_folder: Path) -> tuple[str, ...]:
    """Names of all tasks in a folder, sorted."""
    return tuple(sorted(path.parent.name for path in tasks_folder.glob("*/task.toml")))


def load_tasks(settings: Settings, rootdir: Path, names: Iterable[str] | None = None) -> tuple[Task, ...]:
    """Load the tasks named (or of the settings, or all), sorted by name; SettingsError for an unknown name."""
    tasks_folder, checks_folder = folders(settings, rootdir)
    known = task_names(tasks_folder)
    wanted = list(names) if names is not None else settings.tasks if settings.tasks is not None else list(known)
    for name in wanted:
        if name not in known:
            raise SettingsError(f"unknown task {name!r}", suggest(name, known))
    if not wanted:
        raise SettingsError(f"no task chosen of {tasks_folder}", f"known: {', '.join(known)}")
    return tuple(load_task(tasks_folder / name, checks_folder / name) for name in sorted(set(wanted)))
