"""Records that are hostile in every text they hold, as if nothing had been escaped when it came in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_agentgrade.plan import AttemptKey
from pytest_agentgrade.records.loaded import LoadedRun
from pytest_agentgrade.records.model import AttemptRecord, FaultRecord, RunRecord
from pytest_agentgrade.records.store import RunStore
from pytest_agentgrade.reporting.several_runs import Report
from tests.analysis.proven_records import a_full_attempt
from tests.records_made_here import a_key, a_run, an_attempt

EVIL = (
    "=cmd|'/c calc'!A1\x1b]0;x\x07\x1b[2J\u202egnp\u2066\u2028\u2029\r\n\t<script>alert(1)</script>\"'`"
    "<img src=x onerror=y>"
    "]]>--><!--&lt;&#60;\x00\x7f\x85\u200b\ufeff\ue000{{ 7 * 7 }}{% raw %}</style></pre> javascript:x http://evil.example/"
)
"""Something for every reader: terminal, browser, spreadsheet, XML parser, template engine. No record has surrogates."""
_LEFT = {"key", "schema_version", "outcome", "mode_proof", "started_at"}
"""Fields with a fixed set of values, and the names of the attempt, which were checked."""
EVIL_PATCH = f"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{EVIL}\n+\ud800{EVIL}\n" * 3


def evil_report(folder: Path) -> Report:
    """Two modes, one attempt of each counted, one ended by a fault, one not run; patches on disk."""
    clean = [a_full_attempt("baseline", 10), a_full_attempt("mtp", 1)]
    fault = an_attempt(a_key("baseline", 7)).model_copy(
        update={"fault": FaultRecord(fault="host", message="m", hint="h", phase="p"), "verdicts": []}
    )
    unborn = AttemptRecord(key=an_attempt(a_key("mtp", 7)).key)
    records = [_evil(record) for record in (*clean, fault, unborn)]
    store = RunStore(folder)
    for record in records:
        attempt = store.attempt(AttemptKey(**record.key.model_dump()))
        attempt.write_bytes("submission.patch", EVIL_PATCH.encode("utf-8", "surrogatepass"))
    run = a_run(records, created_at=1.0, settings={"model": EVIL, EVIL: [EVIL], "agent_env": {"API_KEY": "s3cret"}})
    host = {"system": EVIL, EVIL: "8"}
    run = run.model_copy(update={"version": EVIL, "host": host, "sources": {"model": EVIL}, "tasks": {EVIL: EVIL}})
    run = run.model_copy(update={"modes": {"mtp": {"server_args": [EVIL], "model": EVIL}}, "draw_key": "5ec4e7"})
    return Report((LoadedRun(run, tuple(records), folder, (EVIL,)),))


def _evil(record: AttemptRecord) -> AttemptRecord:
    return AttemptRecord.model_validate({name: _worse(name, value) for name, value in record.model_dump().items()})


def _worse(name: str, value: Any) -> Any:
    if name in _LEFT:
        return value
    if isinstance(value, str):
        return f"{value}{EVIL}" if name == "check" else EVIL
    if isinstance(value, list):
        return [_worse("", item) for item in value] or (
            [EVIL] if name in ("notes", "mode_notes", "changed", "ignored") else []
        )
    if isinstance(value, dict):
        return {key: _worse(key, item) for key, item in value.items()}
    return value


__all__ = ["EVIL", "EVIL_PATCH", "RunRecord", "evil_report"]
