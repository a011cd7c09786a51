"""Judging stored submissions again, without an agent and without pytest: after an update, or after a check was mended.

All attempts at a task are judged on the same inputs: the run's, as long as they tell right from wrong. Where a check
has changed so that they no longer do, or is new, it gets new ones, for every attempt of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from pytest_agentgrade.assignment.catalog import load_tasks
from pytest_agentgrade.assignment.layers import Layer
from pytest_agentgrade.assignment.settings import Settings, resolve
from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.grading.draws import WORKERS, choose_draw, misjudged
from pytest_agentgrade.grading.suite import Check, load_checks
from pytest_agentgrade.machine import Machine
from pytest_agentgrade.records.model import AttemptRecord, DrawRecord, VerdictRecord
from pytest_agentgrade.records.store import AttemptStore, RunStore
from pytest_agentgrade.run_folder import sole_user

Log = Callable[[str], None]


class _Drawn(NamedTuple):
    """The inputs of a check, and why they are not the recorded ones; empty when they are."""

    draw: DrawRecord
    why: str


def regrade(folder: Path, rootdir: Path, log: Log) -> int:
    """Judge every stored submission of a run again and journal the verdicts; returns how many differ.

    The verdicts there were stay in ``verdicts.1``, ``verdicts.2`` and so on; new ones carry the fingerprint of their
    task. SettingsError when what the agents were asked is not what is found here: then nothing is judged.
    """
    store = RunStore(folder)
    settings = _settings_of(store)
    names = sorted({key.task for key in store.planned()})
    with sole_user(folder), Machine.open(settings, store.run().run_id, log) as machine:
        return sum(_regrade_task(machine, store, task, log) for task in load_tasks(settings, rootdir, names))


def _settings_of(store: RunStore) -> Settings:
    try:
        return resolve([Layer(str(store.folder / "run.json"), store.run().settings)]).settings
    except SettingsError as error:
        what = f"the settings of the run are not of this version: {error.message}"
        raise SettingsError(what, "judge with the version that wrote it") from error


def _regrade_task(machine: Machine, store: RunStore, task: Task, log: Log) -> int:
    attempts, recorded = _stored(store, task, log), store.read_draws(task.name)
    if not attempts or recorded is None:
        return 0
    checks = load_checks(task)
    draws = _draws(machine, store, task, checks, recorded, log)
    return sum(_regrade(machine, attempt, task, checks, draws, log) for attempt in attempts)


def _stored(store: RunStore, task: Task, log: Log) -> list[AttemptStore]:
    """The attempts that can be judged. Raises before anything is judged when one of them cannot be read."""
    found = []
    for attempt in (store.attempt(key) for key in store.planned() if key.task == task.name):
        record = attempt.record()
        if record.submission is None:
            log(f"{attempt.key}: no stored submission")
            continue
        if record.workspace is not None and record.workspace.task_digest != task.digest:
            remedy = "judge with the version of the task it was made with"
            raise SettingsError(f"task {task.name} has changed since {store.folder} was made", remedy)
        if record.submission.refused is None:
            attempt.read_submission()
        found.append(attempt)
    return found


def _draws(
    machine: Machine, store: RunStore, task: Task, checks: Sequence[Check], recorded: Mapping[str, DrawRecord], log: Log
) -> Mapping[str, DrawRecord]:
    """Inputs by check: the recorded ones, but for checks that have changed so that they no longer tell."""
    run = store.run()
    names = {check.name for check in checks}
    if run.tasks.get(task.name, task.fingerprint) == task.fingerprint and names == recorded.keys():
        return recorded
    log(f"{task.name}: its checks have changed since the run was made; judged by them as they are now")
    for name in sorted(recorded.keys() - names):
        log(f"  {name}: no longer a check")
    key = bytes.fromhex(run.draw_key)
    with machine.quiet_clock(), ThreadPoolExecutor(WORKERS) as workers:
        found = list(workers.map(lambda check: _drawn(check, task, key, recorded.get(check.name)), checks))
    for one in found:
        if one.why:
            log(f"  {one.draw.check}: {one.why}; new inputs for all attempts")
    store.write_draws(task.name, [one.draw for one in found])
    return {one.draw.check: one.draw for one in found}


def _drawn(check: Check, task: Task, run_key: bytes, recorded: DrawRecord | None) -> _Drawn:
    why = "was no check of the run"
    if recorded is not None:
        wrong = misjudged(check, task, recorded.n, int(recorded.seed, 16))
        if not wrong:
            return _Drawn(recorded, "")
        why = f"on its recorded inputs it now misjudges {', '.join(wrong)}"
    chosen = choose_draw(check, task, run_key)
    return _Drawn(DrawRecord(check=chosen.check, n=chosen.n, seed=f"{chosen.seed:x}"), why)


def _regrade(
    machine: Machine,
    attempt: AttemptStore,
    task: Task,
    checks: Sequence[Check],
    draws: Mapping[str, DrawRecord],
    log: Log,
) -> int:
    before = attempt.record()
    attempt.replace_verdicts([machine.verdict(task, attempt, check, draws[check.name]) for check in checks])
    after = attempt.record()
    log(f"{attempt.key}: {after.passed}/{after.expected_checks}, was {before.passed}/{before.expected_checks}")
    differences = _differences(before, after)
    for new, old in differences:
        log(f"  {new.check}: {new.outcome}, was {old.outcome if old is not None else 'not judged'}")
    return sum(old is not None for _, old in differences)


def _differences(before: AttemptRecord, after: AttemptRecord) -> list[tuple[VerdictRecord, VerdictRecord | None]]:
    """(new, old) verdicts that are not the same; old is None where there was none."""
    old = {verdict.check: verdict for verdict in before.verdicts}
    pairs = [(verdict, old.get(verdict.check)) for verdict in after.verdicts]
    return [(new, was) for new, was in pairs if was is None or was.outcome != new.outcome]
