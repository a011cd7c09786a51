from __future__ import annotations

import pytest

from pytest_agentgrade.analysis.matrix import matrices
from pytest_agentgrade.analysis.summary import summarise
from tests.records_made_here import a_key, a_verdict, an_agent, an_attempt


def test_speed_is_tokens_over_generation_time_of_all_attempts_together() -> None:
    slow = an_attempt(a_key(seed=1), agent=an_agent(tokens=100, generation=10.0))
    fast = an_attempt(a_key(seed=2), agent=an_agent(tokens=900, generation=10.0))
    (summary,) = summarise([slow, fast])
    assert summary.tokens_per_second == pytest.approx(50.0)


def test_patches_per_hour_counts_the_time_of_attempts_that_failed_too() -> None:
    works = an_attempt(a_key(seed=1), agent=an_agent(seconds=120.0))
    fails = an_attempt(a_key(seed=2), passed=9, agent=an_agent(seconds=480.0))
    (summary,) = summarise([works, fails])
    assert summary.patches_per_hour == pytest.approx(3600 * 1 / 600)
    assert (summary.delivered, summary.checks_passed, summary.checks_total) == (1, 19, 20)
    assert summary.seconds_to_patch == pytest.approx(120.0)


def test_what_is_not_counted_leaves_no_trace_but_its_number() -> None:
    records = [
        an_attempt(a_key(seed=1)),
        an_attempt(a_key(seed=2), fault="host"),
        an_attempt(a_key(seed=3), checks=4),
    ]
    (summary,) = summarise(records)
    assert (summary.planned, summary.counted, summary.faulted, summary.partial) == (3, 1, 1, 1)
    assert summary.checks_total == 10 and summary.clock_seconds == pytest.approx(100.0)


def test_an_attempt_with_two_endings_of_a_kind_counts_once() -> None:
    (summary,) = summarise([an_attempt(endings=["a", "b"]), an_attempt(endings=["b"]), an_attempt()])
    assert summary.met("a", "b") == 2 and summary.met("a") == 1 and summary.met("c") == 0


def test_no_drafts_reported_is_not_no_drafts_made() -> None:
    assert summarise([an_attempt()])[0].drafted is None
    (summary,) = summarise([an_attempt(agent=an_agent(drafts=(100, 60))), an_attempt()])
    assert (summary.drafted, summary.accepted, summary.acceptance_rate) == (100, 60, pytest.approx(0.6))


def test_modes_and_budgets_are_kept_apart() -> None:
    records = [an_attempt(a_key(mode, budget=budget)) for mode in ("off", "on") for budget in (1, 2)]
    assert [(s.mode, s.response_tokens, s.counted) for s in summarise(records)] == [
        ("off", 1, 1), ("off", 2, 1), ("on", 1, 1), ("on", 2, 1),
    ]  # fmt: skip


def test_nothing_counted_gives_no_rates() -> None:
    (summary,) = summarise([an_attempt(fault="host")])
    rates = (summary.success_rate, summary.tokens_per_second, summary.patches_per_hour, summary.seconds_to_patch)
    assert rates == (None, None, None, None)


def test_the_matrix_shows_every_verdict_and_beyond_checks_apart() -> None:
    record = an_attempt(passed=1, checks=2)
    beyond = record.model_copy(update={"verdicts": [*record.verdicts, a_verdict(0, beyond=True)]})
    (matrix,) = matrices([beyond, an_attempt(a_key("off"), checks=1)])
    assert matrix.labels == ("mtp-4242", "off-4242")
    assert matrix.rows == (
        ("test_check_0", False, ("passed", "passed")),
        ("test_check_1", False, ("failed", None)),
        ("test_beyond_0", True, ("passed", None)),
    )
    assert matrix.totals == ("-", "-")


def test_the_columns_of_all_tasks_have_one_order_whoever_went_first() -> None:
    ran = [("a", "off", 9), ("a", "on", 9), ("a", "on", 1), ("a", "off", 1), ("b", "on", 9), ("b", "off", 9)]
    records = [an_attempt(a_key(mode, seed, task), passed=len(mode)) for task, mode, seed in ran]
    one, other = matrices(records)
    assert one.labels == ("off-1", "off-9", "on-1", "on-9") and one.totals == ("3/10", "3/10", "2/10", "2/10")
    assert other.labels == ("off-9", "on-9") and other.totals == ("3/10", "2/10")
