"""A run as it was read, from its folder or from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_agentgrade.records.model import AttemptRecord, RunRecord
from pytest_agentgrade.records.store import RunStore


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
    return LoadedRun(store.run(), tuple(store.records()), folder)
