"""The part of the page on each mode: what it delivered, with intervals, and which attempts that is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_agentgrade.analysis.comparison import mode_figures
from pytest_agentgrade.analysis.contrasts import mode_attempts
from pytest_agentgrade.analysis.experiment import Experiment
from pytest_agentgrade.analysis.figures import ModeFigures
from pytest_agentgrade.analysis.summary import ModeSummary, summarise
from pytest_agentgrade.reporting.html_attempts import Attempt
from pytest_agentgrade.reporting.html_charts import BarChart, rate_chart, share_chart
from pytest_agentgrade.reporting.html_parts import Table, interval, number, plain_table, share
from pytest_agentgrade.reporting.summary_text import mode_name, summary_tables


@dataclass(frozen=True)
class ModeSources:
    """The attempts that a mode's figures are made from."""

    name: str
    counted: tuple[Attempt, ...]
    left_out: tuple[Attempt, ...]


@dataclass(frozen=True)
class ModesPart:
    """All tables and charts that have a row for each mode."""

    names: tuple[str, ...]
    figures: Table
    stops: Table
    speeds: tuple[Table, ...]
    charts: tuple[BarChart, ...]
    sources: tuple[ModeSources, ...]


def modes_part(experiment: Experiment, attempts: Sequence[Attempt]) -> ModesPart:
    """One row for each mode and response budget."""
    summaries = summarise(experiment.records)
    names = tuple(mode_name(one, summaries) for one in summaries)
    figures = [_figures(experiment, one) for one in summaries]
    delivered, stopped, *speeds = (plain_table(*table) for table in summary_tables(summaries))
    return ModesPart(
        names=names,
        figures=_with_intervals(delivered, figures),
        stops=stopped,
        speeds=tuple(speeds),
        charts=_charts(names, figures),
        sources=tuple(_sources(name, one, attempts) for name, one in zip(names, summaries, strict=True)),
    )


def _figures(experiment: Experiment, one: ModeSummary) -> ModeFigures | None:
    return mode_figures(mode_attempts(experiment, one.mode, one.response_tokens)) if one.counted else None


def _with_intervals(table: Table, figures: Sequence[ModeFigures | None]) -> Table:
    """Below the figures that have one their 95 % interval."""
    notes = [{} if one is None else _intervals(one) for one in figures]
    return Table(
        table.head,
        [
            [cell._replace(note=note.get(title, "")) for title, cell in zip(table.head, row, strict=True)]
            for row, note in zip(table.rows, notes, strict=True)
        ],
    )


def _intervals(one: ModeFigures) -> dict[str, str]:
    return {
        "working patches": interval(one.success_interval, 100, " %"),
        "checks passed": interval(one.check_share_interval, 100, " %"),
        "patches/hour": interval(one.patches_per_hour_interval, places=1),
    }


def _charts(names: Sequence[str], figures: Sequence[ModeFigures | None]) -> tuple[BarChart, ...]:
    known = [(name, one) for name, one in zip(names, figures, strict=True) if one is not None]
    shares = [(name, one.success_rate, one.success_interval, share(one.success_rate)) for name, one in known]
    rates = [
        (name, one.patches_per_hour, one.patches_per_hour_interval, number(one.patches_per_hour))
        for name, one in known
        if one.patches_per_hour is not None
    ]
    charts = [share_chart("Attempts that leave a working patch", shares)] if shares else []
    rate = rate_chart("Working patches per hour", rates)
    return tuple(charts + ([rate] if rate else []))


def _sources(name: str, one: ModeSummary, attempts: Sequence[Attempt]) -> ModeSources:
    mine = [
        attempt
        for attempt in attempts
        if not attempt.twin
        and (attempt.record.key.mode, attempt.record.key.response_tokens) == (one.mode, one.response_tokens)
    ]
    counted = tuple(attempt for attempt in mine if attempt.record.complete)
    return ModeSources(name, counted, tuple(attempt for attempt in mine if not attempt.record.complete))
