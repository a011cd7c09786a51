from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest

from pytest_agentgrade.plan import Plan, keys_in_order, make_plan


def plan(modes: list[str], order: str = "balanced", **factors: object) -> Plan:
    values = {"tasks": ["a", "b"], "seeds": [1, 2], "repeats": 1, "budgets": [8192]} | factors
    return make_plan(modes=modes, order=order, **values)  # type: ignore[arg-type]


def modes_of(plan: Plan, task: str, seed: int) -> list[str]:
    return [key.mode for key in plan.keys if (key.task, key.seed) == (task, seed)]


def test_two_modes_swap_places_from_one_seed_and_task_to_the_next() -> None:
    made = plan(["off", "on"])
    assert [modes_of(made, task, seed) for task, seed in itertools.product("ab", (1, 2))] == [
        ["off", "on"], ["on", "off"], ["on", "off"], ["off", "on"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "factors", [{"seeds": [1]}, {"seeds": [1], "repeats": 3}, {"seeds": [1], "budgets": [8, 9, 10]}]
)
def test_one_seed_does_not_let_a_mode_lead_everywhere(factors: dict[str, Any]) -> None:
    firsts = [key.mode for key in plan(["off", "on"], tasks=list("abcd"), **factors).keys[::2]]
    assert firsts.count("off") == firsts.count("on") and firsts[:4] == ["off", "on", "off", "on"]


def test_an_order_by_seed_is_the_same_for_all_tasks() -> None:
    made = plan(["off", "on"], "by-seed", tasks=["a", "b", "c"])
    assert [key.mode for key in made.keys] == ["off", "on"] * 3 + ["on", "off"] * 3


def test_every_mode_is_first_equally_often() -> None:
    made = plan(["x", "y", "z"], seeds=[1, 2, 3], repeats=2)
    firsts = [key.mode for key in made.keys[::3]]
    assert {mode: firsts.count(mode) for mode in "xyz"} == {"x": 4, "y": 4, "z": 4}


FACTORS = ("task", "seed", "repeat", "response_tokens")
SHAPES = list(itertools.product((1, 2, 3, 4, 5, 10), (1, 2, 3, 5), (1, 2, 3), (1, 2, 3)))
"""Tasks, seeds, repeats, budgets."""


def cells_of(modes: int, shape: tuple[int, ...]) -> dict[tuple[object, ...], list[str]]:
    """Cell -> its modes in the order in which they run."""
    tasks, seeds, repeats, budgets = shape
    names, tokens = [f"t{n}" for n in range(tasks)], list(range(1, budgets + 1))
    cells: dict[tuple[object, ...], list[str]] = {}
    made = plan(list("ABCDE"[:modes]), tasks=names, seeds=list(range(seeds)), repeats=repeats, budgets=tokens)
    for key in made.keys:
        cells.setdefault(tuple(getattr(key, name) for name in FACTORS), []).append(key.mode)
    return cells


def widest(values: dict[tuple[object, ...], list[str]], held: tuple[str, ...]) -> int:
    """Largest gap between how often two modes lead among cells that have the ``held`` factors in common."""
    groups: dict[tuple[object, ...], Counter[str]] = {}
    for cell, order in values.items():
        name = tuple(cell[FACTORS.index(factor)] for factor in held)
        groups.setdefault(name, Counter(dict.fromkeys(order, 0)))[order[0]] += 1
    return max(max(leads.values()) - min(leads.values()) for leads in groups.values())


@pytest.mark.parametrize("modes", [2, 3])
def test_two_or_three_modes_lead_equally_often_within_any_choice_of_factors(modes: int) -> None:
    held = [some for size in range(5) for some in itertools.combinations(FACTORS, size)]
    gaps = {widest(cells, some) for cells in (cells_of(modes, shape) for shape in SHAPES) for some in held}
    assert gaps == {0, 1}


@pytest.mark.parametrize("modes", [4, 5])
def test_more_modes_lead_equally_often_where_they_are_compared(modes: int) -> None:
    """At each budget; with one repeat also within each seed. Beyond that a gap of a few is the price of one formula."""
    for shape in SHAPES:
        cells = cells_of(modes, shape)
        exact = [("response_tokens",), ("response_tokens", "task")]
        exact += [(), ("seed",), ("task",)] if shape[2:] == (1, 1) else []
        assert {widest(cells, held) for held in exact} <= {0, 1}, shape
        assert max(widest(cells, held) for held in ((), ("task",))) <= 2 and widest(cells, ("seed",)) <= 3, shape


@pytest.mark.parametrize("modes", [2, 3, 4, 5])
def test_of_any_two_modes_either_one_runs_first_about_as_often(modes: int) -> None:
    for shape in SHAPES:
        orders = cells_of(modes, shape).values()
        for one, other in itertools.combinations("ABCDE"[:modes], 2):
            earlier = sum(order.index(one) < order.index(other) for order in orders)
            assert abs(2 * earlier - len(orders)) <= 4 + 0.1 * len(orders), (shape, one, other)


def test_modes_of_a_pair_run_next_to_each_other() -> None:
    made = plan(["off", "on"], repeats=3, budgets=[100, 200])
    for one, other in zip(made.keys[::2], made.keys[1::2], strict=True):
        assert (one.task, one.seed, one.repeat, one.response_tokens) == (
            other.task, other.seed, other.repeat, other.response_tokens,
        )  # fmt: skip
        assert one.mode != other.mode


def test_blocked_order_finishes_a_mode_before_the_next() -> None:
    assert [mode for mode, _ in itertools.groupby(plan(["off", "on"], "blocked").keys, lambda key: key.mode)] == [
        "off", "on",
    ]  # fmt: skip


def test_labels_name_what_varies_and_nothing_else() -> None:
    assert plan(["mtp"], seeds=[4242]).keys[0].label == "mtp-4242"
    labels = {key.label for key in plan(["mtp"], seeds=[4242], repeats=2, budgets=[8192, 16384]).keys}
    assert labels == {"mtp-4242-b8192", "mtp-4242-b16384", "mtp-4242-r1-b8192", "mtp-4242-r1-b16384"}


def test_a_repeat_has_a_seed_of_its_own_and_the_first_keeps_the_users() -> None:
    keys = plan(["mtp"], tasks=["a"], seeds=[4242, 8675309], repeats=50).keys
    assert [key.sampling_seed for key in keys if key.repeat == 0] == [4242, 8675309]
    seeds = [key.sampling_seed for key in keys]
    assert len(set(seeds)) == len(seeds) and all(0 <= seed < 2**31 for seed in seeds)


def test_the_seed_of_a_repeat_is_the_same_in_every_mode_task_and_budget() -> None:
    keys = plan(["off", "on"], repeats=2, budgets=[1, 2]).keys
    assert len({key.sampling_seed for key in keys if (key.seed, key.repeat) == (1, 1)}) == 1


def test_the_digest_names_the_plan() -> None:
    assert plan(["off", "on"]).digest == plan(["off", "on"]).digest
    assert plan(["off", "on"]).digest != plan(["on", "off"]).digest


def test_chosen_attempts_keep_the_order_of_the_plan() -> None:
    made = plan(["off", "on"])
    chosen = [made.keys[5], made.keys[1], made.keys[5]]
    assert keys_in_order(made, chosen) == (made.keys[1], made.keys[5])


@pytest.mark.parametrize("order", ["balanced", "blocked"])
def test_every_combination_is_there_once(order: str) -> None:
    keys = plan(["x", "y", "z"], order, seeds=[1, 2, 3], repeats=2, budgets=[8, 9]).keys
    assert len(set(keys)) == len(keys) == 2 * 3 * 3 * 2 * 2
