"""One report for one or several runs: tables, matrix, comparison and verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

from pytest_agentgrade.analysis.budget_changes import BudgetChange, budget_changes
from pytest_agentgrade.analysis.contrasts import Contrast, contrasts, placebo_contrasts, repeats_of, twin_tests
from pytest_agentgrade.analysis.experiment import Experiment, arrange
from pytest_agentgrade.analysis.gate_figures import gate_figures
from pytest_agentgrade.analysis.gate_pairs import judge
from pytest_agentgrade.analysis.gates import Gate, GateResult
from pytest_agentgrade.analysis.mixtures import mixtures
from pytest_agentgrade.analysis.noise import noise_floor
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.records.finding import shown_path
from pytest_agentgrade.records.inputs import load_runs
from pytest_agentgrade.records.loaded import LoadedRun
from pytest_agentgrade.records.model import RunRecord
from pytest_agentgrade.reporting.compare_json import report_json
from pytest_agentgrade.reporting.compare_lines import budget_lines, contrast_lines, placebo_section
from pytest_agentgrade.reporting.csv_tables import CSV_TABLES
from pytest_agentgrade.reporting.noise_text import lone_line, twin_lines
from pytest_agentgrade.reporting.page import PAGE_WIDTH, fold
from pytest_agentgrade.reporting.summary_text import summary_lines


@dataclass(frozen=True)
class Report:
    """Everything that is said of some runs."""

    runs: tuple[LoadedRun, ...]
    gates: tuple[Gate, ...] = ()
    named: tuple[str, ...] = ()
    """Modes in the order in which they were asked for: the first one is what others are compared with."""

    @cached_property
    def experiment(self) -> Experiment:
        """One attempt for each cell and mode."""
        return arrange(self.runs, self.named)

    @cached_property
    def contrasts(self) -> tuple[Contrast, ...]:
        """The first mode against each other one, placebos apart."""
        return contrasts(self.experiment)

    @cached_property
    def placebos(self) -> tuple[Contrast, ...]:
        """Each placebo against its mode."""
        return placebo_contrasts(self.experiment)

    @cached_property
    def budgets(self) -> tuple[BudgetChange, ...]:
        """Whether the gap stays at larger budgets."""
        return budget_changes(self.contrasts)

    @cached_property
    def gate_results(self) -> tuple[GateResult, ...]:
        """Every gate at every budget."""
        budgets = self.experiment.budgets if self.gates else ()
        figures = {budget: gate_figures(self.experiment, self.contrasts, budget) for budget in budgets}
        found = []
        for gate, budget in product(self.gates, budgets):
            result = judge(gate, figures[budget], self.experiment, budget)
            where = f" (at {budget} tokens)" if len(budgets) > 1 else ""
            found.append(replace(result, text=f"{result.text}{where}", meaning=f"{result.meaning}{where}"))
        return tuple(found)

    @property
    def tripped(self) -> bool:
        """Whether any gate trips."""
        return any(result.tripped for result in self.gate_results)

    def render(self, style: str, width: int = PAGE_WIDTH) -> str:
        """The report in one of the FORMATS of :mod:`.output`; ``text`` in so many columns."""
        if style == "html":
            from pytest_agentgrade.reporting.html_page import render_html

            return render_html(self, _joined(self.experiment, self.runs), _of_lone_mode(self.experiment))
        if style in CSV_TABLES:
            return CSV_TABLES[style](self.experiment)
        if style == "json":
            found = report_json(self.experiment, self.contrasts, self.budgets, self.gate_results)
            return json.dumps({"runs": [run.run.run_id for run in self.runs], **found}, indent=1, allow_nan=False)
        return "\n".join(self.lines(width, markdown=style == "markdown"))

    def lines(self, width: int = PAGE_WIDTH, *, markdown: bool = False) -> list[str]:
        """The report as lines of text, prose broken at ``width``, or of Markdown."""
        run = _joined(self.experiment, self.runs)
        experiment = self.experiment
        lines = summary_lines(run, experiment.records, markdown=markdown, width=width, of_runs=experiment.keys_by_run)
        lines += contrast_lines(self.contrasts, markdown=markdown)
        for more in (
            placebo_section(self.placebos, markdown=markdown),
            _of_lone_mode(self.experiment),
            budget_lines(self.budgets),
            twin_lines(twin_tests(self.experiment)),
            [*mixtures(self.experiment), *(note for run in self.runs for note in run.notes)],
            [result.line() for result in self.gate_results],
            [f"records: {shown_path(run.source)}" for run in self.runs],
        ):
            lines += (["", *more] if lines[-1] else more) if more else []
        return _paragraphs(lines) if markdown else fold(lines, width)


def report_on(paths: Sequence[Path], gates: Sequence[Gate] = (), named: Sequence[str] = ()) -> Report:
    """Read run folders and JUnit files; SettingsError for a path that is neither, and for a mode that none has."""
    report = Report(load_runs(paths), tuple(gates), tuple(named))
    if unknown := [mode for mode in named if mode not in report.experiment.modes]:
        there = ", ".join(report.experiment.modes)
        raise SettingsError(f"no attempt in mode {unknown[0]!r} in what is compared", f"the modes there: {there}")
    return report


def _joined(experiment: Experiment, runs: Sequence[LoadedRun]) -> RunRecord:
    """Several runs seen as one: modes that were run apart are blocked by nature."""
    if len(runs) == 1:
        return runs[0].run
    plan = [record.key for record in experiment.records]
    modes = {name: table for run in runs for name, table in run.run.modes.items()}
    names = {"run_id": ", ".join(run.run.run_id for run in runs), "plan": plan, "order": "blocked", "modes": modes}
    return runs[0].run.model_copy(update=names)


def _of_lone_mode(experiment: Experiment) -> list[str]:
    """The noise of a mode that stands alone, at each budget: what a second mode would have to exceed."""
    if len(experiment.contenders) != 1:
        return []
    (mode,), lines = experiment.contenders, []
    for budget in experiment.budgets:
        source = repeats_of(experiment, [mode], budget)
        pairs = len(experiment.counted(mode, budget))
        lines += lone_line(None if source is None else noise_floor(source, pairs, 0.0))
    return lines


def _paragraphs(lines: Sequence[str]) -> list[str]:
    """In Markdown a line needs an empty line around it, except in a table or list; indented lines become a list."""
    spaced: list[str] = []
    for line in lines:
        shown = f"- {line.strip()}" if line.startswith("  ") else line
        before = spaced[-1] if spaced else ""
        if shown and before and not (shown[0] == before[0] and shown[0] in "|-"):
            spaced.append("")
        if shown or before:
            spaced.append(shown)
    return spaced
