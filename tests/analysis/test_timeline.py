"""Pairs of a balanced plan are balanced only if they ran so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_agentgrade.analysis.contrasts import Contrast, contrasts
from pytest_agentgrade.analysis.experiment import arrange
from pytest_agentgrade.records.loaded import LoadedRun
from pytest_agentgrade.records.model import AttemptRecord
from pytest_agentgrade.reporting.compare_json import report_json
from pytest_agentgrade.reporting.compare_lines import contrast_lines
from tests.analysis.proven_records import a_full_attempt
from tests.records_made_here import a_run
from tests.stored_runs import HOST, SETTINGS

PLANNED = [("baseline", 1), ("mtp", 1), ("mtp", 2), ("baseline", 2), ("baseline", 3), ("mtp", 3)]
"""(mode, seed) as a balanced plan has them."""


def ran(*order: tuple[str, int], **changes: Any) -> list[AttemptRecord]:
    """Attempts that began in this order, ten minutes after each other."""
    return [
        a_full_attempt(mode, seed=seed, started_at=1e9 + 600.0 * at, **changes) for at, (mode, seed) in enumerate(order)
    ]


def compared(records: list[AttemptRecord], **run: Any) -> Contrast:
    whole = a_run(records, **({"host": HOST, "settings": SETTINGS} | run))
    (found,) = contrasts(arrange([LoadedRun(whole, tuple(records), Path("r1"))]))
    return found


def orders(found: Contrast) -> dict[int, str]:
    return {pair.cell.seed: pair.order for pair in found.pairs.tried}


def test_attempts_that_ran_as_planned_are_balanced() -> None:
    found = compared(ran(*PLANNED))
    assert set(orders(found).values()) == {"balanced"} and found.comparison is not None
    assert (found.comparison.order, found.comparison.blocked_pairs) == ("balanced", 0)


def test_a_mode_that_was_run_first_and_alone_makes_blocked_pairs_in_a_balanced_plan() -> None:
    """``-k baseline``, and the rest when the run is resumed."""
    first, then = ([one for one in PLANNED if one[0] == mode] for mode in ("baseline", "mtp"))
    found = compared(ran(*first, *then))
    assert set(orders(found).values()) == {"blocked"} and found.comparison is not None
    assert (found.comparison.order, found.comparison.blocked_pairs) == ("blocked", 3)
    text = " ".join(contrast_lines([found]))
    assert "The modes ran one after the other: what drifts with time may pass for a difference." in text
    assert "Planned next to each other, but other attempts ran between them: t seed 1, t seed 2, t seed 3." in text


def test_one_pair_that_a_resumed_run_tore_apart_is_named_and_the_others_stay_balanced() -> None:
    records = ran(*PLANNED)
    late = records[1].agent
    assert late is not None
    records[1] = records[1].model_copy(update={"agent": late.model_copy(update={"started_at": 2e9})})
    found = compared(records)
    assert orders(found) == {1: "blocked", 2: "balanced", 3: "balanced"}
    text = " ".join(contrast_lines([found]))
    assert "In 1 of 3 pairs the modes did not run next to each other: what drifts with time" in text
    assert "but other attempts ran between them: t seed 1. In fact these are blocked pairs." in text
    pairs = report_json(arrange([LoadedRun(a_run(records), tuple(records), Path("r"))]), [found], [], [])
    assert [pair["apart"] for pair in pairs["comparisons"][0]["pairs"]] == ["other attempts ran between them", "", ""]


def test_an_attempt_that_counts_for_nothing_lies_between_all_the_same() -> None:
    records = ran(("baseline", 1), ("mtp", 2), ("mtp", 1))
    records[1] = records[1].model_copy(update={"verdicts": []})
    assert orders(compared(records)) == {1: "blocked"}


def test_two_sessions_are_apart_with_nothing_in_between() -> None:
    records = ran(("baseline", 1), session="a") + ran(("mtp", 1), session="b")
    found = compared(records)
    assert orders(found) == {1: "blocked"}
    assert "but they ran in two sessions: t seed 1." in " ".join(contrast_lines([found]))
    unknown = ran(("baseline", 1), session=None) + ran(("mtp", 1), session="b")
    assert orders(compared(unknown)) == {1: "balanced"}


def test_a_third_mode_of_the_same_cell_may_run_in_between() -> None:
    records = ran(("baseline", 1), ("q4", 1), ("mtp", 1), ("mtp", 2), ("q4", 2), ("baseline", 2))
    whole = a_run(records, host=HOST, settings=SETTINGS)
    for found in contrasts(arrange([LoadedRun(whole, tuple(records), Path("r1"))])):
        assert set(orders(found).values()) == {"balanced"}


def test_a_blocked_plan_stays_blocked_and_says_nothing_of_what_was_planned() -> None:
    found = compared(ran(("baseline", 1), ("mtp", 1)), order="blocked")
    assert orders(found) == {1: "blocked"} and "Planned next" not in " ".join(contrast_lines([found]))


def test_an_order_by_seed_brings_modes_together_as_a_balanced_one_does() -> None:
    found = compared(ran(*PLANNED), order="by-seed")
    assert set(orders(found).values()) == {"balanced"}


def test_without_times_the_plan_is_all_that_is_known() -> None:
    mixed = (*PLANNED[::2], *PLANNED[1::2])
    assert set(orders(compared(ran(*mixed))).values()) == {"blocked"}
    timeless = [a_full_attempt(mode, seed=seed) for mode, seed in mixed]
    assert set(orders(compared(timeless)).values()) == {"balanced"}
