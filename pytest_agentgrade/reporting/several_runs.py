"""One summary for the records of one or several run folders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from pytest_agentgrade.analysis.summary import ModeSummary, summarise
from pytest_agentgrade.errors import AgentGradeError, SettingsError
from pytest_agentgrade.records.model import AttemptRecord, RunRecord
from pytest_agentgrade.records.store import RUNS_FOLDER, RunStore
from pytest_agentgrade.reporting.summary_text import summary_lines


def render_runs(folders: Sequence[Path], style: str) -> str:
    """The summary as ``text``, ``markdown`` or ``json``; SettingsError for a folder without a run."""
    stores = [RunStore(folder) for folder in folders]
    run = _joined([store.run() for store in stores])
    records = [record for store in stores for record in store.records()]
    if style == "json":
        return json.dumps(_as_json(run, records), indent=1)
    return "\n".join(summary_lines(run, records, markdown=style == "markdown"))


def newest_runs(rootdir: Path, modes: Sequence[str]) -> list[Path]:
    """For each mode the newest run below ``rootdir`` that has it; SettingsError when there is none."""
    found: list[Path] = []
    for mode in modes:
        folder = next((f for f in _newest_first(rootdir) if mode in RunStore(f).run().modes), None)
        if folder is None:
            raise SettingsError(f"no run of mode {mode!r} in {rootdir / RUNS_FOLDER}", f"pytest --agent-mode={mode}")
        if folder not in found:
            found.append(folder)
    return found


def _newest_first(rootdir: Path) -> list[Path]:
    folders = []
    for run_file in sorted((rootdir / RUNS_FOLDER).glob("*/run.json"), reverse=True):
        try:
            RunStore(run_file.parent).run()
        except AgentGradeError:
            # Written by another version: `agentgrade report` on that folder says what is wrong with it.
            continue
        folders.append(run_file.parent)
    return folders


def _joined(runs: Sequence[RunRecord]) -> RunRecord:
    """Several runs seen as one: their plans one after the other, so modes run apart are blocked by nature."""
    if len(runs) == 1:
        return runs[0]
    plan = [key for run in runs for key in run.plan]
    names = {"run_id": ", ".join(run.run_id for run in runs), "plan": plan, "order": "blocked"}
    return runs[0].model_copy(update=names)


def _as_json(run: RunRecord, records: Sequence[AttemptRecord]) -> dict[str, object]:
    return {
        "run": run.run_id,
        "order": run.order,
        "modes": [_mode_json(summary) for summary in summarise(records)],
        "attempts": [
            {**record.key.model_dump(), "passed": record.passed, "complete": record.complete} for record in records
        ],
    }


def _mode_json(summary: ModeSummary) -> dict[str, object]:
    computed = ("success_rate", "tokens_per_second", "patches_per_hour", "acceptance_rate")
    fields = {**asdict(summary), "endings": [sorted(carried) for carried in summary.endings]}
    return {**fields, **{name: getattr(summary, name) for name in computed}}
