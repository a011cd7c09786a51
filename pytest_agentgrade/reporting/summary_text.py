"""The summary for people: what each mode delivered, what stopped it, and who passed which check."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_agentgrade.analysis.matrix import TaskMatrix, matrices
from pytest_agentgrade.analysis.summary import ModeSummary, summarise
from pytest_agentgrade.demo import DEMO_NOTE
from pytest_agentgrade.records.model import AttemptRecord, RunRecord
from pytest_agentgrade.reporting.speed_text import SPEED_HEAD, has_speed, speed_notes, speed_row
from pytest_agentgrade.reporting.table import markdown_table, text_table

_NONE = "-"
_STOPS = (
    ("response budget", ("response_budget_in_reasoning", "response_budget_in_content", "response_budget_in_tool_call")),
    ("reasoning loop", ("reasoning_loop",)),
    ("task clock", ("task_clock",)),
    ("no production edit", ("no_production_edit", "edits_outside_only")),
)
"""Columns of the table of limits: title, endings that count for it."""
_MARKS = {"passed": ".", "failed": "F", "error": "E", None: " "}


def summary_lines(run: RunRecord, records: Sequence[AttemptRecord], *, markdown: bool = False) -> list[str]:
    """The whole summary as lines of plain text, or of Markdown."""
    table = markdown_table if markdown else text_table
    summaries = summarise(records)
    figures = [*table(DELIVERY_HEAD, [delivery_row(one, summaries) for one in summaries])]
    figures += ["", *table(STOP_HEAD, [stop_row(one, summaries) for one in summaries])]
    if has_speed(summaries):
        figures += ["", *table(SPEED_HEAD, [speed_row(mode_name(one, summaries), one) for one in summaries])]
    figures += ["", *summary_notes(run, records, summaries), ""]
    checks = [line for matrix in matrices(records) for line in (*_matrix_lines(matrix, markdown), "")]
    # In a terminal the end is what one sees first, in a document the beginning.
    parts = (figures, checks) if markdown else (checks, figures)
    return [scope_line(run), "", *parts[0], *parts[1]]


DELIVERY_HEAD = (
    "mode", "attempts", "working patches", "checks", "tok/s", "time to patch", "patches/hour", "drafts accepted",
)  # fmt: skip
STOP_HEAD = ("attempts that met", *(title for title, _ in _STOPS))


def scope_line(run: RunRecord) -> str:
    """What was run, in one line."""
    tasks = len({key.task for key in run.plan})
    seeds = len({(key.seed, key.repeat) for key in run.plan})
    modes = ", ".join(dict.fromkeys(key.mode for key in run.plan))
    return f"{modes}: {_count(tasks, 'task')} x {_count(seeds, 'seed')}, {run.order} order"


def delivery_row(one: ModeSummary, everyone: Sequence[ModeSummary]) -> list[str]:
    """A row under :data:`DELIVERY_HEAD`."""
    return [
        mode_name(one, everyone),
        f"{one.counted}" if one.counted == one.planned else f"{one.counted} of {one.planned}",
        f"{one.delivered}/{one.counted}" if one.counted else _NONE,
        f"{one.checks_passed}/{one.checks_total}" if one.counted else _NONE,
        _number(one.tokens_per_second),
        _number(one.seconds_to_patch, " s"),
        _number(one.patches_per_hour),
        _NONE if one.acceptance_rate is None else f"{one.accepted}/{one.drafted} ({one.acceptance_rate:.0%})",
    ]


def stop_row(one: ModeSummary, everyone: Sequence[ModeSummary]) -> list[str]:
    """A row under :data:`STOP_HEAD`."""
    return [mode_name(one, everyone), *(str(one.met(*endings)) for _, endings in _STOPS)]


def mode_name(one: ModeSummary, everyone: Sequence[ModeSummary]) -> str:
    """The mode, with its response budget where there are several."""
    budgets = {other.response_tokens for other in everyone}
    return one.mode if len(budgets) == 1 else f"{one.mode} at {one.response_tokens}"


def summary_notes(run: RunRecord, records: Sequence[AttemptRecord], summaries: Sequence[ModeSummary]) -> list[str]:
    """What has to be known beside the figures, one sentence each."""
    notes = []
    if any(record.server is not None and record.server.demo for record in records):
        notes.append(DEMO_NOTE)
    if run.patches is not None:
        notes.append("Submissions were made elsewhere: no speed, no task clock.")
    for one in summaries:
        left_out = [f"{one.faulted} ended by a fault that is not the model's"] if one.faulted else []
        left_out += [f"{one.partial} not judged by all ten checks"] if one.partial else []
        if left_out:
            notes.append(f"{one.mode}: not counted: {', '.join(left_out)}.")
        if one.contradicted:
            notes.append(f"{one.mode}: {one.contradicted} attempts ran on a server that was NOT in this mode.")
    notes += [*_refused(records), *_faults(records), *_broken_checks(records), *speed_notes(summaries)]
    notes.append(f"Records: {run.run_id}. All attempts count in patches/hour, whatever stopped them.")
    return notes


def _refused(records: Sequence[AttemptRecord]) -> list[str]:
    """Submissions that are no plain tree of files: they fail every check."""
    return [
        f"{record.key.task}[{record.key.label}]: submission refused, fails every check: {record.submission.refused}"
        for record in records
        if record.submission is not None and record.submission.refused is not None
    ]


def _faults(records: Sequence[AttemptRecord]) -> list[str]:
    """Each fault once, with the attempts it ended."""
    found: dict[str, list[str]] = {}
    for record in records:
        if record.fault is not None:
            text = f"fault of the {record.fault.fault}: {record.fault.message}"
            text += f" - {record.fault.hint}" if record.fault.hint else ""
            found.setdefault(text, []).append(f"{record.key.task}[{record.key.label}]")
    return [f"{', '.join(names)}: {text}" for text, names in found.items()]


def _broken_checks(records: Sequence[AttemptRecord]) -> list[str]:
    """Checks that could not give a verdict, and why."""
    return [
        f"{record.key.task}[{record.key.label}] {verdict.check} gave no verdict: {verdict.reason.splitlines()[0]}"
        for record in records
        for verdict in record.verdicts
        if verdict.outcome == "error"
    ]


def _matrix_lines(matrix: TaskMatrix, markdown: bool) -> list[str]:
    head = (matrix.task, *matrix.labels)
    rows = [
        (check.removeprefix("test_") + (" (beyond)" if beyond else ""), *(_MARKS[outcome] for outcome in outcomes))
        for check, beyond, outcomes in matrix.rows
    ]
    total = ("total", *matrix.totals)
    return (markdown_table if markdown else text_table)(head, [*rows, total])


def _number(value: float | None, unit: str = "") -> str:
    return _NONE if value is None else f"{value:.1f}{unit}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")
