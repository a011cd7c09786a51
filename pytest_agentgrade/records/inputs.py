"""What a comparison is given: run folders and JUnit files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_agentgrade.records.junit_input import load_junit
from pytest_agentgrade.records.loaded import LoadedRun, load_folder


def load_runs(paths: Sequence[Path]) -> tuple[LoadedRun, ...]:
    """Read them all, in order. An attempt that is given twice, in a folder and in a JUnit file say, counts once.

    The first record given is kept, unless a later one is complete where it is not: a run may come in several files
    (``-k``, a shard each, one that was cut). SettingsError names the path that cannot be read.
    """
    found: list[LoadedRun] = []
    known: dict[object, bool] = {}
    for path in paths:
        for loaded in (load_folder(path),) if path.is_dir() else load_junit(path):
            # Files that tell nothing of their run are taken for runs of their own.
            silent = None if loaded.run.created_at else path.resolve()
            run = (loaded.run.run_id, loaded.run.created_at, silent)
            new = [record for record in loaded.records if not known.get((run, record.key), False)]
            new = [record for record in new if record.complete or (run, record.key) not in known]
            known |= {(run, record.key): record.complete for record in new}
            if new or run not in known:
                found.append(replace(loaded, records=tuple(new)))
            known[run] = True
    return tuple(found)
