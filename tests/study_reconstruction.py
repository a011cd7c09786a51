"""The study of 2 October 2026, reconstruction from published figures: 16 records made so that they add up to them.

Published are the checks passed, the clocks of both cache pairs and of one transfers pair, the aggregate speeds, the
range of speeds of short tool-choice responses, and what stopped that pair. Everything else - token counts, the clocks
of attempts that delivered nothing, which of the ten checks failed - is made up.
"""

from __future__ import annotations

from pathlib import Path

from pytest_agentgrade.assignment.presets import find_preset
from pytest_agentgrade.assignment.settings import resolve
from pytest_agentgrade.plan import AttemptKey, Plan, make_plan
from pytest_agentgrade.records.model import AttemptRecord, EndingRecord, KeyRecord
from pytest_agentgrade.records.token_account import SpeedRecord
from tests.analysis.proven_records import MODE_ARGS, a_full_attempt, a_server
from tests.stored_runs import store_run

PRESET = find_preset("study-2026-10")
SEEDS = (4242, 8675309)
TASKS = ("build_planner", "csv_ledger", "expiring_cache", "sqlite_transfers")
SPEED = {"baseline": 36.0, "mtp": 56.2}
SHORT_SPEED = {"baseline": (38.9, 39.8), "mtp": (74.0, 84.2)}
CACHE_CLOCKS = {("baseline", 4242): 192.0, ("mtp", 4242): 153.5, ("baseline", 8675309): 431.2, ("mtp", 8675309): 259.0}
MADE_UP_CLOCK = {"baseline": 250.0, "mtp": 170.0}
BUDGET_SPENT = ("response_budget_in_reasoning", "no_production_edit")


def study_plan() -> Plan:
    settings = resolve([PRESET.layer]).settings
    return make_plan(TASKS, PRESET.modes, settings.seeds, settings.repeats, settings.response_tokens, settings.order)


def study_records() -> list[AttemptRecord]:
    return [_attempt(key) for key in study_plan().keys]


def store_study(folder: Path) -> Path:
    """The reconstructed run on disk."""
    settings = resolve([PRESET.layer]).settings.model_dump(mode="json")
    return store_run(folder, study_records(), settings=settings, order=study_plan().order)


def _attempt(key: AttemptKey) -> AttemptRecord:
    passed, seconds, endings = _published(key)
    speed = SPEED[key.mode]
    common = PRESET.values["server_args"]
    record = a_full_attempt(
        key.mode, passed, seed=key.seed, task=key.task, seconds=seconds,
        server=a_server(MODE_ARGS[key.mode], common=common, build="version: 11146"),
        thinking="medium", short_tool_choices=_short(key),
        predicted_tokens=9_000, completion_tokens=9_000, predicted_seconds=9_000 / speed,
    )  # fmt: skip
    assert record.submission is not None
    found = [EndingRecord(ending=ending, at_seconds=None) for ending in endings]
    submission = record.submission.model_copy(update={"endings": found})
    names = {name: getattr(key, name) for name in KeyRecord.model_fields}
    return record.model_copy(update={"key": KeyRecord(**names), "submission": submission})


def _short(key: AttemptKey) -> SpeedRecord:
    """Slowest and fastest as published, in the first and the last task; the others lie between them."""
    low, high = SHORT_SPEED[key.mode]
    speed = low + (high - low) * TASKS.index(key.task) / (len(TASKS) - 1)
    return SpeedRecord(responses=5, tokens=400, seconds=400 / speed)


def _published(key: AttemptKey) -> tuple[int, float, tuple[str, ...]]:
    """(checks passed, task clock, endings)."""
    if key.task == "expiring_cache":
        return 10, CACHE_CLOCKS[key.mode, key.seed], ("finished",)
    if (key.task, key.seed) == ("sqlite_transfers", 8675309):
        return (
            (10, 480.1, ("task_clock",)) if key.mode == "baseline" else (1, 186.1, ("finished", "no_production_edit"))
        )
    return 1, MADE_UP_CLOCK[key.mode], BUDGET_SPENT
