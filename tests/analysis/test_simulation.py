"""tools/simulate_statistics.py in small: fixed seeds, bounds that a broken statistic does not meet."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "simulate_statistics.py"
EXPERIMENTS = 500
SLACK = 0.02
"""Two standard errors of a share of 5 % among 500."""


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("simulate_statistics", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


simulation = load()


@pytest.mark.parametrize("seeds", simulation.SEEDS)
@pytest.mark.parametrize("scenario", simulation.NO_DIFFERENCE[:2], ids=lambda scenario: scenario.name)
def test_without_a_difference_few_experiments_claim_one(scenario: object, seeds: int) -> None:
    found = simulation.measure(scenario, seeds, EXPERIMENTS)
    assert max(found.claims, found.per_hour_claims, found.either, found.time_claims) <= 0.05 + SLACK
    assert min(found.coverage.values()) >= (0.95 if seeds == 2 else 0.93) - SLACK
    # It is not by claiming nothing at all that the level is kept.
    assert seeds < 20 or min(found.claims, found.time_claims) > 0.005


@pytest.mark.parametrize("seeds", [5, 20])
@pytest.mark.parametrize("scenario", simulation.DIFFERENCE[:2], ids=lambda scenario: scenario.name)
def test_a_difference_is_covered_and_found_as_often_as_computed(scenario: object, seeds: int) -> None:
    found = simulation.measure(scenario, seeds, EXPERIMENTS)
    assert found.claims == pytest.approx(found.power, abs=0.05)
    assert min(found.coverage.values()) >= 0.93 - SLACK
    assert max(found.coverage["success rate"], found.coverage["difference"]) < 1.0


def test_the_report_is_three_tables() -> None:
    lines = list(simulation.report(20))
    assert [line for line in lines if line.startswith("|---")] == ["|---" * 6 + "|", "|---" * 8 + "|", "|---" * 4 + "|"]
    assert len(lines) == 3 * 3 + (4 + 8 + 4) * 3
