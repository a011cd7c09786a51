"""How much attempts differ when nothing that matters was changed."""

from __future__ import annotations

from itertools import product

import pytest

from pytest_agentgrade.analysis.figures import Disagreement
from pytest_agentgrade.analysis.noise import (
    determinism,
    difference_within,
    noise_floor,
    placebo_disagreement,
    repeats_disagreement,
)
from pytest_agentgrade.analysis.paired import ModeAttempts
from tests.analysis.pairs_made_here import an_outcome, pairs_of

GOOD, BAD = an_outcome(10), an_outcome(1)


def test_repeats_disagree_as_often_as_two_of_them_differ() -> None:
    attempts = (("a", GOOD), ("a", BAD), ("a", GOOD), ("b", BAD), ("b", BAD), ("c", GOOD))
    found = repeats_disagreement([ModeAttempts("off", attempts)])
    assert found is not None
    assert (found.compared, found.independent) == (4, 3)
    assert (found.differ, found.check_gap) == pytest.approx((1 / 3, 0.3))
    assert found.cautious == pytest.approx((1 + 1) / 5)


def test_attempts_of_two_modes_are_never_repeats_of_each_other() -> None:
    modes = [ModeAttempts("off", (("a", GOOD), ("a", GOOD))), ModeAttempts("on", (("a", BAD), ("a", BAD)))]
    found = repeats_disagreement(modes)
    assert found is not None and (found.differ, found.compared, found.modes) == (0.0, 2, ("off", "on"))


def test_one_attempt_at_each_task_tells_nothing() -> None:
    assert repeats_disagreement([ModeAttempts("off", (("a", GOOD), ("b", GOOD)))]) is None
    assert placebo_disagreement("off", "ub256", []) is None


def test_a_placebo_disagrees_as_often_as_its_pairs_differ() -> None:
    found = placebo_disagreement("off", "ub256", pairs_of(first_only=1, second_only=1, neither=6))
    assert found is not None
    assert (found.differ, found.independent, found.modes) == (0.25, 8, ("off", "ub256"))


@pytest.mark.parametrize(("differ", "pairs"), [(0.0, 4), (0.1, 4), (0.5, 6), (0.9, 5), (1.0, 3), (1.0, 6)])
def test_noise_stays_within_the_floor_as_often_as_said(differ: float, pairs: int) -> None:
    """Against the sum over all outcomes of all pairs."""
    chance = {-1: differ / 2, 0: 1 - differ, 1: differ / 2}
    by_net: dict[int, float] = {}
    for steps in product(chance, repeat=pairs):
        weight = 1.0
        for step in steps:
            weight *= chance[step]
        by_net[abs(sum(steps))] = by_net.get(abs(sum(steps)), 0.0) + weight
    floor = round(difference_within(differ, pairs) * pairs)
    assert sum(weight for net, weight in by_net.items() if net <= floor) >= 0.95 - 1e-9
    assert sum(weight for net, weight in by_net.items() if net < floor) < 0.95


def test_more_pairs_have_a_lower_floor() -> None:
    source = Disagreement("repeats", ("off",), 8, 8, 0.25, 0.2)
    floors = [noise_floor(source, pairs, -0.25) for pairs in (8, 32, 200)]
    assert [one.exceeded for one in floors] == [False, True, True]
    assert floors[0].floor > floors[1].floor > floors[2].floor


def test_a_difference_as_large_as_the_floor_does_not_exceed_it() -> None:
    source = Disagreement("repeats", ("off",), 8, 8, 0.25, 0.2)
    floor = noise_floor(source, 8, 0.0).floor
    assert not noise_floor(source, 8, floor).exceeded and noise_floor(source, 8, floor + 1 / 8).exceeded


def test_twins_are_a_determinism_test() -> None:
    same, other, untold = (an_outcome(10, digest=digest) for digest in ("x", "y", None))
    found = determinism("off", [(same, same), (same, other), (same, untold)])
    assert (found.twins, found.told, found.same_submission, found.same_checks) == (3, 2, 1, 3)
