"""What a comparison is given: run folders and JUnit files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_agentgrade.records.junit_input import load_junit
from pytest_agentgrade.records.loaded import LoadedRun, load_folder


def load_runs(paths: Sequence[Path]) -> tuple[LoadedRun, ...]:
    """Read them all, in order. A run that is given twice, as folder and as JUnit file say, counts once.

    Of such a run the first one given is kept. SettingsError names the path that cannot be read.
    """
    found: dict[tuple[str, float, object], LoadedRun] = {}
    for path in paths:
        for loaded in (load_folder(path),) if path.is_dir() else load_junit(path):
            # Files that tell nothing of their run are taken for runs of their own.
            silent = None if loaded.run.created_at else path.resolve()
            found.setdefault((loaded.run.run_id, loaded.run.created_at, silent), loaded)
    return tuple(found.values())
