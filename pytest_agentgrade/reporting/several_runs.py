"""One report for one or several runs: tables, matrix, comparison and verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

from pytest_agentgrade.analysis.contrasts import (
    BudgetChange,
    Contrast,
    budget_changes,
    contrasts,
    twin_tests,
)
from pytest_agentgrade.analysis.experiment import Experiment, arrange
from pytest_agentgrade.analysis.gate_figures import gate_figures
from pytest_agentgrade.analysis.gates import Gate, GateResult
from pytest_agentgrade.errors import AgentGradeError, SettingsError
from pytest_agentgrade.records.inputs import load_runs
from pytest_agentgrade.records.loaded import LoadedRun
from pytest_agentgrade.records.model import AttemptRecord, RunRecord
from pytest_agentgrade.records.store import RUNS_FOLDER, RunStore
from pytest_agentgrade.reporting.compare_json import report_json
from pytest_agentgrade.reporting.compare_lines import budget_lines, contrast_lines, twin_lines
from pytest_agentgrade.reporting.summary_text import summary_lines


@dataclass(frozen=True)
class Report:
    """Everything that is said of some runs."""

    runs: tuple[LoadedRun, ...]
    gates: tuple[Gate, ...] = ()

    @cached_property
    def experiment(self) -> Experiment:
        """One attempt for each cell and mode."""
        return arrange(self.runs)

    @cached_property
    def contrasts(self) -> tuple[Contrast, ...]:
        """The first mode against each other one."""
        return contrasts(self.experiment)

    @cached_property
    def budgets(self) -> tuple[BudgetChange, ...]:
        """Whether the gap stays at larger budgets."""
        return budget_changes(self.contrasts)

    @cached_property
    def gate_results(self) -> tuple[GateResult, ...]:
        """Every gate at every budget."""
        budgets = self.experiment.budgets
        found = []
        for gate, budget in product(self.gates, budgets):
            result = gate.evaluate(gate_figures(self.experiment, self.contrasts, budget))
            where = f" (at {budget} tokens)" if len(budgets) > 1 else ""
            found.append(replace(result, text=f"{result.text}{where}"))
        return tuple(found)

    @property
    def tripped(self) -> bool:
        """Whether any gate trips."""
        return any(result.tripped for result in self.gate_results)

    def render(self, style: str) -> str:
        """The report as ``text``, ``markdown`` or ``json``."""
        if style == "json":
            found = report_json(self.experiment, self.contrasts, self.budgets, self.gate_results)
            return json.dumps({"runs": [run.run.run_id for run in self.runs], **found}, indent=1, allow_nan=False)
        return "\n".join(self._lines(style == "markdown"))

    def _lines(self, markdown: bool) -> list[str]:
        run = _joined(self.experiment, self.runs)
        lines = summary_lines(run, self.experiment.records, markdown=markdown)
        lines += contrast_lines(self.contrasts, markdown=markdown)
        for more in (
            budget_lines(self.budgets),
            twin_lines(twin_tests(self.experiment)),
            [note for run in self.runs for note in run.notes],
            [result.line() for result in self.gate_results],
        ):
            lines += ["", *more] if more else []
        return _paragraphs(lines) if markdown else lines


def verdict_section(run: RunRecord, records: Sequence[AttemptRecord]) -> list[str]:
    """For the end of a run with several modes: two sentences for each comparison; empty for one mode."""
    loaded = LoadedRun(run, tuple(records), Path())
    return contrast_lines(Report((loaded,)).contrasts, short=True)


def report_on(paths: Sequence[Path], gates: Sequence[Gate] = ()) -> Report:
    """Read run folders and JUnit files; SettingsError for a path that is neither."""
    return Report(load_runs(paths), tuple(gates))


def newest_runs(rootdir: Path, modes: Sequence[str]) -> list[Path]:
    """For each mode the newest run below ``rootdir`` with a graded attempt of it; SettingsError without one."""
    found: list[Path] = []
    for mode in modes:
        folder = next((folder for folder in _newest_first(rootdir) if _has_graded(folder, mode)), None)
        if folder is None:
            raise SettingsError(f"no run of mode {mode!r} in {rootdir / RUNS_FOLDER}", f"pytest --agent-mode={mode}")
        if folder not in found:
            found.append(folder)
    return found


def _has_graded(folder: Path, mode: str) -> bool:
    return any(record.complete and record.key.mode == mode for record in RunStore(folder).records())


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


def _joined(experiment: Experiment, runs: Sequence[LoadedRun]) -> RunRecord:
    """Several runs seen as one: modes that were run apart are blocked by nature."""
    if len(runs) == 1:
        return runs[0].run
    plan = [record.key for record in experiment.records]
    names = {"run_id": ", ".join(run.run.run_id for run in runs), "plan": plan, "order": "blocked"}
    return runs[0].run.model_copy(update=names)


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
