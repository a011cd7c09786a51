"""The summary for people: what each mode delivered, what stopped it, and who passed which check."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from pytest_agentgrade.analysis.matrix import TaskMatrix, matrices
from pytest_agentgrade.analysis.paired import ABORTED
from pytest_agentgrade.analysis.summary import ModeSummary, summarise
from pytest_agentgrade.demo import DEMO_NOTE
from pytest_agentgrade.records.model import AttemptRecord, KeyRecord, RunRecord
from pytest_agentgrade.reporting.page import PAGE_WIDTH
from pytest_agentgrade.reporting.speed_text import Table, speed_notes, speed_tables
from pytest_agentgrade.reporting.table import markdown_table, text_table
from pytest_agentgrade.wording import counted

_NONE = "-"
_STOPS = (
    (
        "response\nbudget",
        ("response_budget_in_reasoning", "response_budget_in_content", "response_budget_in_tool_call"),
    ),
    ("reasoning\nloop", ("reasoning_loop",)),
    ("task\nclock", ("task_clock",)),
    ("no production\nedit", ("no_production_edit", "edits_outside_only")),
)
"""Columns of the table of limits: title, endings that count for it."""
_BEYOND = "(beyond the prompt, not counted:)"
_MARKS = {"passed": ".", "failed": "F", "error": "E", None: " "}


def summary_lines(
    run: RunRecord,
    records: Sequence[AttemptRecord],
    *,
    markdown: bool = False,
    width: int = PAGE_WIDTH,
    of_runs: Sequence[Sequence[KeyRecord]] = (),
) -> list[str]:
    """The whole summary as lines of plain text, or of Markdown; tables keep to ``width``, prose is not broken yet.

    ``of_runs`` as for :func:`scope_line`.
    """
    table = partial(markdown_table if markdown else text_table, width=width)
    summaries = summarise(records)
    figures = [line for head, rows in summary_tables(summaries) for line in (*table(head, rows), "")]
    figures += [*summary_notes(run, records, summaries), ""]
    checks = [line for matrix in matrices(records) for line in (*table(*matrix_table(matrix)), "")]
    # In a terminal the end is what one sees first, in a document the beginning.
    parts = (figures, checks) if markdown else (checks, figures)
    return [scope_line(run, of_runs), "", *parts[0], *parts[1]]


def summary_tables(summaries: Sequence[ModeSummary]) -> list[Table]:
    """What was delivered, what stopped the rest, and the speeds as far as they are known; a head may have two lines."""
    names = [mode_name(one, summaries) for one in summaries]
    delivered = [[name, *_delivery(one)] for name, one in zip(names, summaries, strict=True)]
    stopped = [[name, *_stops(one)] for name, one in zip(names, summaries, strict=True)]
    return [(_DELIVERY_HEAD, delivered), (_STOP_HEAD, stopped), *speed_tables(names, summaries)]


_DELIVERY_HEAD = (
    "mode", "attempts", "working\npatches", "checks\npassed", "tok/s", "time to\npatch", "patches/\nhour",
)  # fmt: skip
_STOP_HEAD = ("attempts\nthat met", *(title for title, _ in _STOPS))


def scope_line(run: RunRecord, of_runs: Sequence[Sequence[KeyRecord]] = ()) -> str:
    """Which modes, how many tasks, seeds and repeats, in which order.

    ``of_runs``: where several runs are seen as one, the attempts that each of them gave. Attempts that do not fill
    modes x tasks x seeds x repeats are only counted.
    """
    modes = list(dict.fromkeys(key.mode for key in run.plan))
    told = f"{', '.join(modes)}: {_extent(run.plan, of_runs)}"
    one_after_the_other = len(modes) > 1 and all(len({key.mode for key in keys}) == 1 for keys in of_runs)
    if len(of_runs) < 2 or (one_after_the_other and _fills(run.plan)):
        return f"{told}, {run.order} order"
    return f"{told} of {len(of_runs)} runs"


def _extent(plan: Sequence[KeyRecord], of_runs: Sequence[Sequence[KeyRecord]]) -> str:
    if not _fills(plan):
        numbers = [len(keys) for keys in of_runs] or [len(plan)]
        return f"{' + '.join(map(str, numbers))} {'attempt' if numbers == [1] else 'attempts'}"
    repeats = len({key.repeat for key in plan})
    sizes = [counted(len({key.task for key in plan}), "task"), counted(len({key.seed for key in plan}), "seed")]
    return " x ".join([*sizes, counted(repeats, "repeat")] if repeats > 1 else sizes)


def _fills(plan: Sequence[KeyRecord]) -> bool:
    """Whether every mode has every task, seed, repeat and budget that any has."""
    keys = [(key.mode, key.task, key.seed, key.repeat, key.response_tokens) for key in plan]
    return len(set(keys)) == prod(len(set(values)) for values in zip(*keys, strict=True))


def _delivery(one: ModeSummary) -> list[str]:
    return [
        f"{one.counted}" if one.counted == one.planned else f"{one.counted} of {one.planned}",
        f"{one.delivered}/{one.counted}" if one.counted else _NONE,
        f"{one.checks_passed}/{one.checks_total}" if one.counted else _NONE,
        _number(one.tokens_per_second),
        _number(one.seconds_to_patch, " s"),
        _number(one.patches_per_hour),
    ]


def _stops(one: ModeSummary) -> list[str]:
    return [str(one.met(*endings)) for _, endings in _STOPS]


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
            notes.append(
                f"{one.mode}: {counted(one.contradicted, 'attempt')} ran on a server that was NOT in this mode."
            )
    notes += [
        *_lossy(run, summaries),
        *_died(records),
        *_aborted(records),
        *_refused(records),
        *_faults(records),
        *_broken_checks(records),
    ]
    notes += speed_notes(summaries)
    if any(one.patches_per_hour is not None for one in summaries):
        notes.append("All attempts count in patches/hour, whatever stopped them.")
    return notes


def _lossy(run: RunRecord, summaries: Sequence[ModeSummary]) -> list[str]:
    """Modes that say of themselves that they change what the model writes."""
    modes = dict.fromkeys(one.mode for one in summaries)
    return [
        f"{mode} is declared lossy: it trades quality for speed. Compare it with the same model, token by token, "
        "and with the model it was made from."
        for mode in modes
        if run.modes.get(mode, {}).get("lossless") is False
    ]


def _died(records: Sequence[AttemptRecord]) -> list[str]:
    """A server that dies under the agent is an outcome of its mode; what the others came to is told beside it."""
    by_mode: dict[str, list[AttemptRecord]] = {}
    for record in records:
        if record.complete:
            by_mode.setdefault(record.key.mode, []).append(record)
    notes = []
    for mode, group in by_mode.items():
        alive = [one for one in group if one.submission is None or not one.submission.has_ending("server_died")]
        if died := len(group) - len(alive):
            works = sum(one.delivers for one in alive)
            notes.append(
                f"{mode}: the server died in {counted(died, 'attempt')}, which count as they stand. Without them "
                f"{works} of {len(alive)} left a working patch."
            )
    return notes


def _aborted(records: Sequence[AttemptRecord]) -> list[str]:
    """What the live abort of loops, where it was on, did to the figures."""
    watched = [record for record in records if record.agent is not None and record.agent.abort_loops]
    cut = sum(record.submission.has_ending(ABORTED) for record in watched if record.submission is not None)
    if not watched:
        return []
    if not cut:
        return ["Live abort of loops was on: no attempt was cut by it."]
    return [
        f"Live abort of loops was on: {counted(cut, 'attempt')} cut by it. Their times and token counts are lower "
        "bounds (censored): tok/s and patches/hour are not those of a run without it."
    ]


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


def matrix_table(matrix: TaskMatrix) -> Table:
    """Who passed what; mode above seed, so that many attempts fit beside each other."""
    head = (f"{matrix.task}\n", *(label.replace("-", "\n", 1) for label in matrix.labels))
    marks = {
        beyond: [
            (check.removeprefix("test_"), *(_MARKS[outcome] for outcome in outcomes))
            for check, is_beyond, outcomes in matrix.rows
            if is_beyond is beyond
        ]
        for beyond in (False, True)
    }
    rows = [*marks[False], ("total", *matrix.totals)]
    return head, [*rows, (_BEYOND, *("" for _ in matrix.labels)), *marks[True]] if marks[True] else rows


def _number(value: float | None, unit: str = "") -> str:
    return _NONE if value is None else f"{value:.1f}{unit}"
