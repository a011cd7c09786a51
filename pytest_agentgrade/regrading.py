"""Judging stored submissions again: same draws, no agent, no pytest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pytest_agentgrade.assignment.catalog import load_tasks
from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.grading.suite import load_checks
from pytest_agentgrade.machine import Machine
from pytest_agentgrade.records.model import VerdictRecord
from pytest_agentgrade.records.store import AttemptStore, RunStore


def regrade(folder: Path, rootdir: Path, log: Callable[[str], None]) -> int:
    """Judge every stored submission of a run again and journal the verdicts; returns how many differ.

    The verdicts there were stay in ``verdicts.1``, ``verdicts.2`` and so on. SettingsError when the run's tasks are
    not the ones found here.
    """
    store = RunStore(folder)
    settings = Settings.model_validate(store.run().settings)
    names = sorted({key.task for key in store.planned()})
    tasks = {task.name: task for task in load_tasks(settings, rootdir, names)}
    with Machine.open(settings, store.run().run_id) as machine:
        return sum(_regrade(machine, store, store.attempt(key), tasks[key.task], log) for key in store.planned())


def _regrade(machine: Machine, store: RunStore, attempt: AttemptStore, task: Task, log: Callable[[str], None]) -> int:
    record = attempt.record()
    draws = store.read_draws(task.name)
    if record.submission is None or draws is None:
        log(f"{attempt.key}: no stored submission")
        return 0
    if record.workspace is not None and record.workspace.task_digest != task.digest:
        remedy = "judge with the version of the task it was made with"
        raise SettingsError(f"task {task.name} has changed since {store.folder} was made", remedy)
    before = {verdict.check: verdict for verdict in record.verdicts}
    attempt.set_verdicts_aside()
    changed = 0
    for check in load_checks(task):
        verdict = machine.verdict(task, attempt, check, draws[check.name])
        attempt.write_verdict(verdict)
        changed += _differs(before.get(check.name), verdict)
    after = attempt.record()
    log(f"{attempt.key}: {after.passed}/{after.expected_checks}, was {record.passed}/{record.expected_checks}")
    return changed


def _differs(before: VerdictRecord | None, after: VerdictRecord) -> bool:
    return before is not None and before.outcome != after.outcome
