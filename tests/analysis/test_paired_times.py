"""The test on paired times: a limit makes a time a lower bound."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_agentgrade.analysis.paired import Pair, outcome
from pytest_agentgrade.analysis.paired_times import compare_times, prentice_scores
from pytest_agentgrade.analysis.sign_flips import sign_flip_p
from tests.analysis.pairs_made_here import a_pair, an_outcome
from tests.records_made_here import an_attempt


def timed(*seconds: tuple[float, float], limited: tuple[bool, bool] = (False, False)) -> list[Pair]:
    return [
        a_pair(an_outcome(10, one, limited[0]), an_outcome(10, other, limited[1]), seed=n)
        for n, (one, other) in enumerate(seconds)
    ]


def test_without_a_limit_the_scores_are_those_of_wilcoxon() -> None:
    seconds = np.array([30.0, 10.0, 20.0, 40.0])
    found = prentice_scores(seconds, np.zeros(4, dtype=bool))
    assert found == pytest.approx(2 * np.array([3, 1, 2, 4]) / 5 - 1)


def test_a_limited_time_scores_more_than_the_same_time_ended_by_itself() -> None:
    limited = np.array([False, True, False])
    first, second, third = prentice_scores(np.array([100.0, 100.0, 300.0]), limited)
    assert first < second
    assert second == pytest.approx(1 - 3 / 4)
    assert third == pytest.approx(1 - 2 * (3 / 4) * (1 / 2))


def test_attempts_that_all_met_the_same_limit_tell_nothing() -> None:
    found = compare_times(timed((480, 480), (480, 480), (480, 480), limited=(True, True)))
    assert found is not None
    assert (found.p, found.tends_to, found.ratio) == (1.0, 0.0, None)


@pytest.mark.parametrize(
    ("endings", "limited"),
    [
        (["finished"], False),
        (["stopped"], False),
        (["task_clock"], True),
        (["response_budget_in_content", "finished"], False),
        (["reasoning_loop", "loop_aborted"], True),
        (["loop_aborted", "finished"], True),
        (["server_died", "stopped"], True),
        (["stream_broken", "agent_crashed"], True),
        (["server_error", "finished"], False),
    ],
)
def test_which_endings_make_a_time_a_lower_bound(endings: list[str], limited: bool) -> None:
    """A limit met on the way by an attempt that then finished is none; the live abort of loops is always the end."""
    assert outcome(an_attempt(endings=endings)).limited is limited


def test_eight_pairs_of_one_direction_have_the_exact_p_value() -> None:
    found = compare_times(timed(*[(300.0 + n, 100.0 + n) for n in range(8)]))
    assert found is not None
    assert found.p == 2 / 2**8
    assert found.tends_to == -1
    assert found.ratio is not None
    assert found.ratio < 0.5


def test_a_missing_clock_gives_no_figures() -> None:
    assert compare_times([a_pair(an_outcome(10, None), an_outcome(10, 5.0))]) is None


def test_sign_flips_are_the_permutation_test_of_scipy() -> None:
    differences = np.array([3.0, -1.0, 2.5, 4.0, -0.5, 1.0, 2.0])
    expected = stats.permutation_test((differences,), np.sum, permutation_type="samples", n_resamples=10_000).pvalue
    assert float(sign_flip_p(differences[np.newaxis])[0]) == pytest.approx(expected)


def test_many_pairs_are_sampled_with_the_same_p_every_time() -> None:
    differences = np.linspace(-1.0, 1.4, 40)[np.newaxis]
    assert 0 < sign_flip_p(differences)[0] == sign_flip_p(differences)[0] < 1
