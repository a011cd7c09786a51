"""A run as it was read, from its folder or from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_agentgrade.records.model import AttemptRecord, RunRecord
from pytest_agentgrade.records.store import RunStore
from pytest_agentgrade.wording import counted


@dataclass(frozen=True)
class LoadedRun:
    """A run and the records of all its planned attempts."""

    run: RunRecord
    records: tuple[AttemptRecord, ...]
    source: Path
    notes: tuple[str, ...] = ()
    """What a reader of any figure should know about how it was read."""


def load_folder(folder: Path) -> LoadedRun:
    """Read a run folder; SettingsError when it holds no run."""
    store = RunStore(folder)
    run, records = store.run(), tuple(store.records())
    return LoadedRun(run, records, folder, tuple(_judged_again(run, records)))


def _judged_again(run: RunRecord, records: Sequence[AttemptRecord]) -> Iterator[str]:
    """A sentence for each task with verdicts of checks that were changed after the run was made."""
    for task, made_with in run.tasks.items():
        judged = [record for record in records if record.key.task == task and record.verdicts]
        changed = sum(any(v.fingerprint not in ("", made_with) for v in record.verdicts) for record in judged)
        if changed:
            what = f"{run.run_id}: {changed} of {counted(len(judged), 'attempt')} at {task}"
            yield f"{what} were judged again by checks that have changed since the run was made."
