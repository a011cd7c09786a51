"""Judging stored submissions again: same draws, no agent, no pytest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from pytest_agentgrade.assignment.catalog import load_tasks
from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.grading.suite import load_checks
from pytest_agentgrade.machine import Machine
from pytest_agentgrade.records.model import VerdictRecord
from pytest_agentgrade.records.store import AttemptStore, RunStore
from pytest_agentgrade.run_folder import sole_user


def regrade(folder: Path, rootdir: Path, log: Callable[[str], None]) -> int:
    """Judge every stored submission of a run again and journal the verdicts; returns how many differ.

    The verdicts there were stay in ``verdicts.1``, ``verdicts.2`` and so on. SettingsError when the run's tasks are
    not the ones found here.
    """
    store = RunStore(folder)
    settings = _settings_of(store)
    names = sorted({key.task for key in store.planned()})
    tasks = {task.name: task for task in load_tasks(settings, rootdir, names)}
    with sole_user(folder), Machine.open(settings, store.run().run_id, log) as machine:
        return sum(_regrade(machine, store, store.attempt(key), tasks[key.task], log) for key in store.planned())


def _settings_of(store: RunStore) -> Settings:
    try:
        return Settings.model_validate(store.run().settings)
    except ValidationError as error:
        what = f"the settings in {store.folder / 'run.json'} are not of this version: {error.errors()[0]['msg']}"
        raise SettingsError(what, "judge with the version that wrote it") from error


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
    checks = load_checks(task)
    if undrawn := sorted({check.name for check in checks} - draws.keys()):
        what = f"{store.folder} has no inputs for {', '.join(undrawn)}: the checks of {task.name} have changed"
        raise SettingsError(what, "judge with the checks it was made with")
    verdicts = [machine.verdict(task, attempt, check, draws[check.name]) for check in checks]
    attempt.replace_verdicts(verdicts)
    changed = sum(_differs(before.get(verdict.check), verdict) for verdict in verdicts)
    after = attempt.record()
    log(f"{attempt.key}: {after.passed}/{after.expected_checks}, was {record.passed}/{record.expected_checks}")
    return changed


def _differs(before: VerdictRecord | None, after: VerdictRecord) -> bool:
    return before is not None and before.outcome != after.outcome
