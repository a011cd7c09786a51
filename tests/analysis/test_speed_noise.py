"""How much speeds and rates scatter when nothing that matters was changed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pytest_agentgrade.analysis.noise_figures import PlaceboRatio, RateSpread
from pytest_agentgrade.analysis.speed_noise import chance_factor, rate_noise, speed_noise
from pytest_agentgrade.records.model import AttemptRecord
from tests.analysis.proven_records import a_full_attempt

Speeds = list[tuple[str, float]]


def made(tok_s: float, task: str = "a", seed: int = 1, mode: str = "baseline") -> AttemptRecord:
    return a_full_attempt(mode, task=task, seed=seed, predicted_tokens=round(100 * tok_s), predicted_seconds=100.0)


@pytest.mark.parametrize("seeds", [2, 5])
@pytest.mark.parametrize("spreads", [(0.05, 0.05), (0.02, 0.2)])
def test_nothing_but_chance_stays_within_the_factor_as_often_as_said(seeds: int, spreads: tuple[float, float]) -> None:
    """Four tasks of unequal speed; the second mode scatters as much, or ten times as much."""
    random, within, experiments = np.random.default_rng(7), 0, 2_000
    tasks = [task for task in "abcd" for _ in range(seeds)]
    for _ in range(experiments):
        level = np.repeat(random.normal(3.6, 0.3, 4), seeds)
        logs = [level + random.normal(0.0, spread, len(tasks)) for spread in spreads]
        factor = chance_factor([list(zip(tasks, map(float, one), strict=True)) for one in logs], len(tasks))
        assert factor is not None and factor >= 1
        within += abs(float((logs[1] - logs[0]).mean())) <= math.log(factor)
    assert 0.935 <= within / experiments <= 0.975


def test_the_speeds_of_tasks_are_no_noise() -> None:
    apart: Speeds = [("a", 1.0), ("a", 1.0), ("b", 9.0), ("b", 9.0), ("c", 5.0), ("c", 5.0)]
    assert chance_factor([apart, apart], 6) == 1.0
    assert chance_factor([apart, [("a", 3.0)]], 6) == 1.0, "one mode scatters as the other"


def test_too_few_attempts_at_a_task_tell_nothing() -> None:
    assert chance_factor([[("a", 1.0), ("a", 1.1)], [("a", 1.0), ("a", 1.2), ("b", 1.0)]], 2) is None
    assert chance_factor([[("a", 1.0)], [("a", 1.0)]], 1) is None
    found = speed_noise([[made(30.0)], [made(60.0)]], [(made(30.0), made(60.0))], [])
    assert found is not None
    assert (found.factor, found.exceeded, found.independent) == (None, None, 0)
    assert found.observed == pytest.approx(2.0)


def test_a_speed_beyond_the_noise_is_told_from_one_within_it() -> None:
    def told(second: float) -> bool | None:
        modes = [[made(speed * (0.99, 1.0, 1.01)[seed], seed=seed) for seed in range(3)] for speed in (40.0, second)]
        found = speed_noise(modes, list(zip(*modes, strict=True)), [])
        assert found is not None and found.pairs == 3 and found.independent == 4
        return found.exceeded

    assert told(60.0) and told(20.0) and not told(40.2)


def test_a_placebo_is_divided_by_its_mode() -> None:
    pair = (made(40.0), made(50.0))
    found = speed_noise([[made(40.0)], [made(60.0)]], [pair], [("baseline", "ub256", [pair, pair]), ("q", "p", [])])
    assert found is not None and found.placebos == (PlaceboRatio("baseline", "ub256", 2, pytest.approx(1.25)),)
    untimed = made(40.0).model_copy(update={"agent": None})
    assert speed_noise([[untimed], [untimed]], [(untimed, untimed)], []) is None


def test_patches_per_hour_from_seed_to_seed_are_over_all_tasks() -> None:
    works = {(1, "a"): 10, (1, "b"): 10, (2, "a"): 10, (2, "b"): 1, (3, "a"): 10}
    attempts = [a_full_attempt(passed=passed, seed=seed, task=task) for (seed, task), passed in works.items()]
    found = rate_noise([("baseline", attempts), ("mtp", attempts[:2])], [])
    assert found is not None and found.spreads == (RateSpread("baseline", 2, 18.0, 36.0),)
    halves = [(attempts[0], attempts[0]), (attempts[1], attempts[3])]
    of_placebo = rate_noise([("baseline", attempts)], [("baseline", "ub256", halves)])
    assert of_placebo is not None and of_placebo.placebos == (PlaceboRatio("baseline", "ub256", 2, 0.5),)


def test_too_few_patches_are_no_rate() -> None:
    nothing = [a_full_attempt(passed=1, seed=seed, task=task) for seed in (1, 2) for task in "ab"]
    single = [a_full_attempt(seed=seed) for seed in (1, 2)]
    for attempts in (nothing, single):
        found = rate_noise([("baseline", attempts)], [("baseline", "ub256", [(nothing[0], single[0])])])
        assert found is not None and (found.spreads, found.placebos) == ((), ())
    assert rate_noise([("baseline", [single[0].model_copy(update={"agent": None})])], []) is None
