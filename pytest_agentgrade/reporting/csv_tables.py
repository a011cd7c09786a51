"""Records as CSV (RFC 4180): a row for each attempt, or for each verdict, for spreadsheets and data frames.

Column names are stable and end in their unit: ``_s`` seconds, ``_tokens``, ``_bytes``. What is not known is empty.
``docs/reports.md`` says what each column is.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from pytest_agentgrade.analysis.experiment import Experiment
from pytest_agentgrade.analysis.pair_conditions import Recorded, environment_text
from pytest_agentgrade.escaping import escape
from pytest_agentgrade.records.model import AttemptRecord, VerdictRecord

_Value = str | int | float | None
_FORMULA = re.compile("\t|\\s*[=+@\uff1d\uff0b\uff0d\uff20-]")
"""What a spreadsheet may take for the beginning of a formula; four of the signs are the others at full width."""
_CHARACTERS = 10_000


def attempts_csv(experiment: Experiment) -> str:
    """A row for each attempt of the report, in plan order."""
    return _csv(ATTEMPT_COLUMNS, ([of(one) for of in ATTEMPT_COLUMNS.values()] for one in experiment.chosen))


def checks_csv(experiment: Experiment) -> str:
    """A row for each verdict, attempts in plan order, checks by name."""
    return _csv(
        CHECK_COLUMNS,
        (
            [*(of(one) for of in _ATTEMPT_NAME.values()), *(of(verdict) for of in _VERDICT.values())]
            for one in experiment.chosen
            for verdict in sorted(one.record.verdicts, key=lambda verdict: verdict.check)
        ),
    )


def neutral(value: _Value) -> _Value:
    """Text without anything hidden, and with an apostrophe before what a spreadsheet would calculate."""
    if not isinstance(value, str):
        return value
    text = escape(value, _CHARACTERS, keep_newlines=True)
    return f"'{text}" if _FORMULA.match(text) else text


def _csv(names: Iterable[str], rows: Iterable[Iterable[_Value]]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(names)
    writer.writerows([neutral(value) for value in row] for row in rows)
    return out.getvalue()


def _key(name: str) -> Callable[[Recorded], Any]:
    return lambda one: getattr(one.record.key, name)


def _phase(phase: str, name: str) -> Callable[[Recorded], Any]:
    """A field of a finished phase; None before that."""
    return lambda one: getattr(getattr(one.record, phase), name, None)


def _drafts(name: str) -> Callable[[Recorded], Any]:
    return lambda one: getattr(one.record.agent.drafts, name) if one.record.agent else None


def _account(name: str) -> Callable[[Recorded], Any]:
    return lambda one: getattr(one.record.agent.token_account, name, None) if one.record.agent else None


def _of_record(of: Callable[[AttemptRecord], _Value]) -> Callable[[Recorded], Any]:
    return lambda one: of(one.record)


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _state(record: AttemptRecord) -> str:
    if record.complete:
        return "counted"
    return "fault" if record.fault else "partial" if record.submission else "not_run"


def _endings(record: AttemptRecord) -> str:
    return " ".join(ending.ending for ending in record.submission.endings) if record.submission else ""


def _moment(record: AttemptRecord) -> str | None:
    started = record.agent.started_at if record.agent else 0.0
    return datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds") if started else None


_ATTEMPT_NAME: Mapping[str, Callable[[Recorded], Any]] = {
    "run": lambda one: one.run.run_id,
    "task": _key("task"),
    "mode": _key("mode"),
    "seed": _key("seed"),
    "repeat": _key("repeat"),
    "response_budget_tokens": _key("response_tokens"),
    "folder": lambda one: f"attempts/{one.record.key.task}/{one.record.key.label}",
}
ATTEMPT_COLUMNS: Mapping[str, Callable[[Recorded], Any]] = {
    **_ATTEMPT_NAME,
    "state": _of_record(_state),
    "works": _of_record(lambda record: _truth(record.delivers) if record.complete else None),
    "checks_passed": _of_record(lambda record: record.passed if record.verdicts else None),
    "checks_expected": _of_record(lambda record: record.expected_checks),
    "endings": _of_record(_endings),
    "fault": _phase("fault", "fault"),
    "fault_message": _phase("fault", "message"),
    "agent": _phase("agent", "agent"),
    "agent_version": _phase("agent", "agent_version"),
    "agent_exit_code": _phase("agent", "exit_code"),
    "mode_proof": _phase("agent", "mode_proof"),
    "started_at": _of_record(_moment),
    "workspace_s": _phase("workspace", "seconds"),
    "server_start_s": _phase("server", "seconds"),
    "task_clock_s": _phase("agent", "clock_seconds"),
    "task_clock_limit_s": _phase("agent", "task_seconds"),
    "task_clock_left_s": _phase("submission", "seconds_left"),
    "prompt_s": _phase("agent", "prompt_seconds"),
    "generation_s": _phase("agent", "predicted_seconds"),
    "checks_s": _of_record(lambda record: sum(verdict.seconds for verdict in record.verdicts)),
    "requests": _phase("agent", "requests"),
    "requests_left": _phase("submission", "turns_left"),
    "prompt_tokens": _phase("agent", "prompt_tokens"),
    "cached_tokens": _phase("agent", "cached_tokens"),
    "completion_tokens": _phase("agent", "completion_tokens"),
    "generated_tokens": _phase("agent", "predicted_tokens"),
    "reasoning_tokens": _account("reasoning_tokens"),
    "drafted_tokens": _drafts("drafted"),
    "accepted_tokens": _drafts("accepted"),
    "response_budget_left_tokens": _phase("submission", "tokens_left"),
    "context_left_tokens": _phase("submission", "context_left"),
    "server_peak_memory_bytes": _phase("agent", "server_peak_rss_bytes"),
    "server_gpu_memory_bytes": _phase("agent", "server_vram_bytes"),
    "server_build": _phase("server", "build"),
    "model": _phase("server", "model"),
    "model_sha256": _phase("server", "model_sha256"),
    "sandbox_image": _phase("agent", "image_id"),
    "initial_commit": _phase("workspace", "commit_id"),
    "first_request_sha256": _phase("agent", "first_request_sha256"),
    "submission_digest": _phase("submission", "digest"),
    "submission_refused": _phase("submission", "refused"),
    "session": _phase("agent", "session"),
    "pytest_agentgrade_version": _phase("agent", "made_with"),
    "server_program_sha256": _phase("server", "program_sha256"),
    "server_environment": _of_record(lambda record: environment_text(record.server)),
}
"""Column -> its value for an attempt."""
_VERDICT: Mapping[str, Callable[[VerdictRecord], _Value]] = {
    "check": lambda verdict: verdict.check,
    "beyond": lambda verdict: _truth(verdict.beyond),
    "outcome": lambda verdict: verdict.outcome,
    "message": lambda verdict: verdict.reason,
    "check_s": lambda verdict: verdict.seconds,
    "draw_n": lambda verdict: verdict.draw_n,
    "draw_seed": lambda verdict: verdict.draw_seed,
}
CHECK_COLUMNS = (*_ATTEMPT_NAME, *_VERDICT)
"""Columns of the table of verdicts."""
CSV_TABLES: Mapping[str, Callable[[Experiment], str]] = {"csv": attempts_csv, "csv-checks": checks_csv}
"""Format -> table."""
