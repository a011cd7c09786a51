"""Which attempts become pairs, when there are several runs, modes and budgets."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentgrade.analysis.budget_changes import budget_changes
from pytest_agentgrade.analysis.contrasts import contrasts, placebo_contrasts, twin_tests
from pytest_agentgrade.analysis.experiment import arrange
from pytest_agentgrade.analysis.pairs import ProofStatus
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.records.loaded import LoadedRun
from pytest_agentgrade.records.model import AttemptRecord, SubmissionPhase
from tests.analysis.proven_records import OFF, a_full_attempt, a_server
from tests.records_made_here import a_run
from tests.stored_runs import HOST, SETTINGS

SEEDS = range(1, 7)


def loaded(*records: AttemptRecord, name: str = "r1", **changes: object) -> LoadedRun:
    run = a_run(records, **({"run_id": name, "host": HOST, "settings": SETTINGS} | changes))
    return LoadedRun(run, records, Path(name))


def both(seeds: range = SEEDS, budget: int = 8192, off: int = 10, on: int = 1) -> list[AttemptRecord]:
    return [
        a_full_attempt(mode, passed, seed=seed, budget=budget)
        for seed in seeds
        for mode, passed in (("baseline", off), ("mtp", on))
    ]


def test_the_pairs_of_one_balanced_run() -> None:
    (found,) = contrasts(arrange([loaded(*both())]))
    assert (found.pairs.first_mode, found.pairs.second_mode, found.pairs.order) == ("baseline", "mtp", "balanced")
    assert len(found.pairs.with_status(ProofStatus.PROVEN)) == 6 and found.pairs.alone == 0
    assert found.comparison is not None
    assert (found.comparison.counts, found.comparison.winner) == ((0, 6, 0, 0), "baseline")


def test_an_invalid_pair_is_counted_as_such_and_never_in_a_paired_figure() -> None:
    records = both()
    records[1] = a_full_attempt("mtp", 10, seed=1, first_request_sha256="another")
    (found,) = contrasts(arrange([loaded(*records)]))
    assert found.comparison is not None
    assert (found.comparison.pairs, found.comparison.invalid_pairs) == (5, 1)
    (invalid,) = found.pairs.with_status(ProofStatus.INVALID)
    assert (invalid.cell.seed, invalid.proof.differences[0].what) == (1, "first request")


def test_an_attempt_that_does_not_count_leaves_its_partner_alone() -> None:
    records = both()
    records[0] = records[0].model_copy(update={"verdicts": records[0].verdicts[:9]})
    (found,) = contrasts(arrange([loaded(*records)]))
    assert (len(found.pairs.tried), found.pairs.alone) == (5, 1)


def test_runs_apart_make_blocked_pairs() -> None:
    records = both()
    apart = [loaded(*records[::2], name="one"), loaded(*records[1::2], name="two")]
    (found,) = contrasts(arrange(apart))
    assert found.pairs.order == "blocked" and found.comparison is not None and found.comparison.order == "blocked"
    assert len(found.pairs.with_status(ProofStatus.PROVEN)) == 6


def test_the_same_names_in_another_run_are_still_two_runs() -> None:
    records = both(range(1, 3))
    apart = [loaded(*records[::2], created_at=1.0), loaded(*records[1::2], created_at=2.0)]
    (found,) = contrasts(arrange(apart))
    assert found.pairs.order == "blocked"


def test_without_a_pair_there_is_no_comparison() -> None:
    (found,) = contrasts(arrange([loaded(a_full_attempt("baseline", seed=1), a_full_attempt("mtp", seed=2))]))
    assert found.comparison is None and found.pairs.alone == 2


def test_one_mode_is_compared_with_nothing() -> None:
    assert contrasts(arrange([loaded(a_full_attempt("mtp"))])) == ()
    assert contrasts(arrange([])) == ()


def test_more_modes_are_compared_with_the_first_and_corrected() -> None:
    records = both() + [a_full_attempt("q4", 10, seed=seed) for seed in SEEDS]
    found = contrasts(arrange([loaded(*records)]))
    assert [(one.pairs.first_mode, one.pairs.second_mode) for one in found] == [("baseline", "mtp"), ("baseline", "q4")]
    assert found[0].comparison is not None
    assert found[0].comparison.p_adjusted == pytest.approx(2 * found[0].comparison.p)


def test_attempts_made_twice_are_twins_and_not_more_attempts() -> None:
    again = [a_full_attempt("baseline", 9, seed=seed) for seed in SEEDS]
    experiment = arrange([loaded(*both()), loaded(*again, name="r2")])
    (found,) = contrasts(experiment)
    assert found.comparison is not None
    assert (found.comparison.pairs, found.comparison.first.attempts) == (6, 6)
    (test,) = twin_tests(experiment)
    assert (test.mode, test.again_as, test.other_conditions, test.differing) == ("baseline", "baseline", 0, ())
    assert test.result is not None
    assert (test.result.twins, test.result.same_submission, test.result.same_checks) == (6, 6, 0)


def test_twins_under_other_conditions_test_no_determinism() -> None:
    warmer = [a_full_attempt("baseline", seed=seed, sampling={"temperature": 2.0}) for seed in SEEDS]
    (test,) = twin_tests(arrange([loaded(*both()), loaded(*warmer, name="r2")]))
    assert (test.result, test.other_conditions, test.differing) == (None, 6, ("sampling",))


def test_patches_graded_twice_say_nothing_of_a_model() -> None:
    made_elsewhere = SubmissionPhase(origin="patch", digest="cd")
    runs = [
        loaded(a_full_attempt().model_copy(update={"submission": made_elsewhere, "agent": None}), name=name)
        for name in ("r1", "r2")
    ]
    assert twin_tests(arrange(runs)) == ()


def test_one_mode_under_two_names_is_a_determinism_test_and_no_contender() -> None:
    again = [a_full_attempt("again", seed=seed, server=a_server(OFF)) for seed in SEEDS]
    experiment = arrange([loaded(*both(), *again)])
    assert (experiment.doubles, experiment.contenders) == ({"again": "baseline"}, ("baseline", "mtp"))
    (found,) = contrasts(experiment)
    assert found.comparison is not None and found.comparison.comparisons == 1
    (test,) = twin_tests(experiment)
    assert test.result is not None
    assert (test.mode, test.again_as, test.result.same_submission) == ("baseline", "again", 6)


def test_servers_that_do_not_tell_what_they_are_are_never_the_same_mode() -> None:
    for unknown in ({"declared": None}, {"kind": "url"}, {"model_sha256": None}):
        again = [a_full_attempt(mode, server=a_server(OFF, **unknown)) for mode in ("one", "two")]
        assert arrange([loaded(*again)]).contenders == ("one", "two")


def placebo_run(placebo: int, *, base: int = 10, order: tuple[int, ...] = (0, 1, 2)) -> LoadedRun:
    """baseline, a placebo of it that passes ``placebo`` checks, and mtp, which passes one."""
    triples = [
        (
            a_full_attempt("baseline", base, seed=seed),
            a_full_attempt("ub256", placebo, seed=seed, server=a_server((*OFF, "-ub", "256"))),
            a_full_attempt("mtp", 1, seed=seed),
        )
        for seed in SEEDS
    ]
    records = [triple[place] for triple in triples for place in order]
    return loaded(*records, modes={"ub256": {"placebo_of": "baseline"}})


def test_a_placebo_is_no_contender_and_needs_no_correction() -> None:
    experiment = arrange([placebo_run(10)])
    assert experiment.contenders == ("baseline", "mtp")
    (found,) = contrasts(experiment)
    assert found.comparison is not None
    assert (found.comparison.comparisons, found.comparison.winner) == (1, "baseline")
    (placebo,) = placebo_contrasts(experiment)
    assert (placebo.pairs.first_mode, placebo.pairs.second_mode) == ("baseline", "ub256")
    assert len(placebo.pairs.with_status(ProofStatus.PROVEN)) == 6


def test_a_placebo_that_runs_first_is_not_what_others_are_compared_with() -> None:
    (found,) = contrasts(arrange([placebo_run(10, order=(1, 0, 2))]))
    assert (found.pairs.first_mode, found.pairs.second_mode) == ("baseline", "mtp")


def test_without_its_mode_a_placebo_is_a_mode_like_any_other() -> None:
    experiment = arrange([placebo_run(10, order=(1, 2))])
    assert (experiment.placebos, experiment.contenders) == ({}, ("ub256", "mtp"))


def test_noise_is_measured_by_seeds_and_by_placebos() -> None:
    (found,) = contrasts(arrange([placebo_run(1)]))
    repeats, placebo = found.noise
    assert (repeats.source.kind, repeats.source.differ, repeats.source.compared) == ("repeats", 0.0, 30)
    assert (placebo.source.kind, placebo.source.differ, placebo.source.modes) == ("placebo", 1.0, ("baseline", "ub256"))
    assert found.floor == placebo and placebo.floor > repeats.floor and placebo.observed == -1.0


def test_what_a_mode_is_a_placebo_of_may_be_declared_by_one_run_only() -> None:
    records = both()
    runs = [
        loaded(*records[::2], name="r1", modes={"baseline": {"server_args": [], "model": None}}),
        loaded(*records[1::2], name="r2", modes={"baseline": {"server_args": []}, "mtp": {"placebo_of": "baseline"}}),
    ]
    assert arrange(runs).placebos == {"mtp": "baseline"}


def test_a_run_that_has_both_modes_of_a_cell_is_preferred() -> None:
    whole = loaded(*both(range(1, 2)), name="whole")
    alone = loaded(a_full_attempt("baseline", 5, seed=1), name="alone")
    (pair,) = arrange([alone, whole]).pairs("baseline", "mtp", 8192).tried
    assert pair.order == "balanced" and pair.first.run.run_id == "whole"


def test_one_name_for_two_modes_is_refused() -> None:
    runs = [
        loaded(a_full_attempt("mtp", seed=n), name=f"r{n}", modes={"mtp": {"server_args": [str(n)]}}) for n in (1, 2)
    ]
    with pytest.raises(SettingsError, match="mode 'mtp' is not the same in r1 and r2"):
        arrange(runs)


def test_the_gap_at_two_budgets() -> None:
    small, large = both(range(1, 13)), both(range(1, 13), budget=16_384, on=10)
    found = contrasts(arrange([loaded(*small, *large)]))
    assert [one.pairs.response_tokens for one in found] == [8192, 16_384]
    (change,) = budget_changes(found)
    assert (change.cells, change.gaps, change.change) == (12, (-1.0, 0.0), 1.0)
    assert change.shown and change.change_interval.low > 0


def test_few_cells_do_not_tell_whether_the_gap_stays() -> None:
    found = contrasts(arrange([loaded(*both(range(1, 3)), *both(range(1, 3), budget=16_384, on=10))]))
    (change,) = budget_changes(found)
    assert not change.shown
    assert budget_changes(found[:1]) == ()
