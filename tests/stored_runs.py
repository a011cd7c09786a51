"""Run folders for tests: records written to disk as a run writes them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_agentgrade.plan import AttemptKey
from pytest_agentgrade.records.model import AttemptRecord
from pytest_agentgrade.records.store import RunStore
from tests.analysis.proven_records import MODE_ARGS
from tests.records_made_here import a_run

HOST = {"system": "Linux", "machine": "x86_64", "cores": "8", "memory_bytes": "1"}
SETTINGS = {"runtime": None, "server_restart": "attempt"}


def store_run(folder: Path, records: Iterable[AttemptRecord], created_at: float = 1.0, **changes: object) -> Path:
    """Write a run with these attempts, in this order; returns its folder."""
    records = list(records)
    modes = dict.fromkeys(record.key.mode for record in records)
    tables = {mode: {"server_args": list(MODE_ARGS.get(mode, ())), "name": mode} for mode in modes}
    values = {"run_id": folder.name, "created_at": created_at, "host": HOST, "settings": SETTINGS, "modes": tables}
    store = RunStore(folder)
    store.create(a_run(records, **(values | changes)))
    for record in records:
        attempt = store.attempt(AttemptKey(**record.key.model_dump()))
        for phase in (record.workspace, record.server, record.agent, record.submission, record.fault):
            if phase is not None:
                attempt.write(phase)
        for verdict in record.verdicts:
            attempt.write_verdict(verdict)
    return folder
