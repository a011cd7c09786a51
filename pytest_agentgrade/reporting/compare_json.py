"""The comparison as JSON values, for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pytest_agentgrade.analysis.budget_changes import BudgetChange
from pytest_agentgrade.analysis.contrasts import Contrast, placebo_contrasts, repeats_of, twin_tests
from pytest_agentgrade.analysis.experiment import Experiment, TriedPair
from pytest_agentgrade.analysis.gate_figures import COMPUTED
from pytest_agentgrade.analysis.gates import GateResult
from pytest_agentgrade.analysis.mixtures import mixtures
from pytest_agentgrade.analysis.summary import ModeSummary, summarise
from pytest_agentgrade.reporting.compare_lines import spoken
from pytest_agentgrade.reporting.noise_text import placebo_lines


def report_json(
    experiment: Experiment,
    found: Sequence[Contrast],
    budgets: Sequence[BudgetChange],
    gates: Sequence[GateResult],
) -> dict[str, Any]:
    """All figures of a report."""
    return {
        "modes": [_mode(summary, experiment) for summary in summarise(experiment.records)],
        "attempts": [
            {**one.record.key.model_dump(), "run": one.run.run_id, "passed": one.record.passed,
             "complete": one.record.complete}
            for one in experiment.chosen
        ],
        "comparisons": [_contrast(contrast, spoken(contrast)) for contrast in found],
        "placebos": [_contrast(contrast, placebo_lines(contrast)) for contrast in placebo_contrasts(experiment)],
        "mixtures": mixtures(experiment),
        "made_twice": [asdict(test) for test in twin_tests(experiment)],
        "budgets": [{**asdict(change), "change": change.change, "shown": change.shown} for change in budgets],
        "gates": [{**asdict(result), "values": dict(result.values)} for result in gates],
    }  # fmt: skip


def _mode(summary: ModeSummary, experiment: Experiment) -> dict[str, Any]:
    repeats = repeats_of(experiment, [summary.mode], summary.response_tokens)
    return {
        **asdict(summary),
        **{name: getattr(summary, name) for name in COMPUTED},
        "placebo_of": experiment.placebos.get(summary.mode),
        "same_as": experiment.doubles.get(summary.mode),
        "repeats": None if repeats is None else asdict(repeats),
    }


def _contrast(contrast: Contrast, verdict: Sequence[str]) -> dict[str, Any]:
    pairs, comparison, speeds = contrast.pairs, contrast.comparison, contrast.speed_noise
    return {
        "first": pairs.first_mode,
        "second": pairs.second_mode,
        "response_tokens": pairs.response_tokens,
        "alone": pairs.alone,
        "pairs": [_pair(pair) for pair in pairs.tried],
        "figures": None if comparison is None else comparison.to_dict(),
        "noise": [{**asdict(floor), "exceeded": floor.exceeded} for floor in contrast.noise],
        "speed_noise": speeds and {**asdict(speeds), "exceeded": speeds.exceeded},
        "rate_noise": contrast.rate_noise and asdict(contrast.rate_noise),
        "verdict": list(verdict) if comparison is not None else [],
    }


def _pair(pair: TriedPair) -> dict[str, Any]:
    return {
        **pair.cell._asdict(),
        "status": pair.proof.status.value,
        "order": pair.order,
        "apart": pair.apart,
        "passed": [pair.first.record.passed, pair.second.record.passed],
        "differences": [difference._asdict() for difference in pair.proof.differences],
        "missing": list(pair.proof.missing),
    }
