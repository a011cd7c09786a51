"""The figures that gates may name, for each mode."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_agentgrade.analysis.contrasts import Contrast
from pytest_agentgrade.analysis.experiment import Experiment
from pytest_agentgrade.analysis.pairs import ProofStatus
from pytest_agentgrade.analysis.summary import ModeSummary, summarise


def gate_figures(experiment: Experiment, found: Sequence[Contrast], budget: int) -> dict[str, dict[str, float | None]]:
    """Mode -> metric -> value at one response budget.

    The last four metrics belong to a mode's comparison with the first one; the first mode does not have them.
    """
    figures = {one.mode: _of_mode(one) for one in summarise(experiment.records) if one.response_tokens == budget}
    for contrast in found:
        if contrast.pairs.response_tokens == budget:
            figures[contrast.pairs.second_mode] |= _of_contrast(contrast)
    return figures


def _of_mode(one: ModeSummary) -> dict[str, float | None]:
    return {
        "success_rate": one.success_rate,
        "check_share": one.checks_passed / one.checks_total if one.checks_total else None,
        "patches_per_hour": one.patches_per_hour,
        "tokens_per_second": one.tokens_per_second,
        "seconds_to_patch": one.seconds_to_patch,
        "acceptance_rate": one.acceptance_rate,
        "delivered": one.delivered,
        "counted": one.counted,
        "not_counted": one.planned - one.counted,
    }


def _of_contrast(contrast: Contrast) -> dict[str, float | None]:
    interval = contrast.comparison.difference_interval if contrast.comparison else None
    return {
        "difference": contrast.comparison.difference if contrast.comparison else None,
        "difference_low": interval.low if interval else None,
        "difference_high": interval.high if interval else None,
        "invalid_pairs": len(contrast.pairs.with_status(ProofStatus.INVALID)),
    }
