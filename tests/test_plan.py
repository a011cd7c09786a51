from __future__ import annotations

import itertools

import pytest

from pytest_agentgrade.plan import Plan, keys_in_order, make_plan


def plan(modes: list[str], order: str = "balanced", **factors: object) -> Plan:
    values = {"tasks": ["a", "b"], "seeds": [1, 2], "repeats": 1, "budgets": [8192]} | factors
    return make_plan(modes=modes, order=order, **values)  # type: ignore[arg-type]


def modes_of(plan: Plan, task: str, seed: int) -> list[str]:
    return [key.mode for key in plan.keys if (key.task, key.seed) == (task, seed)]


def test_two_modes_swap_places_from_one_seed_to_the_next() -> None:
    made = plan(["off", "on"])
    assert [modes_of(made, task, seed) for task, seed in itertools.product("ab", (1, 2))] == [
        ["off", "on"], ["on", "off"], ["off", "on"], ["on", "off"],
    ]  # fmt: skip


def test_every_mode_is_first_equally_often() -> None:
    made = plan(["x", "y", "z"], seeds=[1, 2, 3], repeats=2)
    firsts = [key.mode for key in made.keys[::3]]
    assert {mode: firsts.count(mode) for mode in "xyz"} == {"x": 4, "y": 4, "z": 4}


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
