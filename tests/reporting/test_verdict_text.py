"""What people read: never a winner without evidence, and what the pairs cannot show."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pytest_agentgrade.analysis.comparison import correct
from pytest_agentgrade.analysis.figures import Interval, KindOfWork
from pytest_agentgrade.reporting.verdict_text import p_value, points, verdict_lines
from tests.analysis.pairs_made_here import an_outcome, compared, pairs_of, study_pairs


def test_the_study_in_plain_sentences() -> None:
    lines = verdict_lines(compared(study_pairs()), KindOfWork(39.4, 78.8, 36.0, 56.2))
    finding, reach, per_hour, kinds, tries, checks, tasks = lines
    assert finding.startswith("No evidence that on or off delivers more working patches: on 2 of 8, off 3 of 8")
    assert "exact McNemar p = 1.00" in finding
    assert reach.startswith(
        "Eight pairs cannot reliably show a difference under 80 points; about 62 pairs would show the observed one"
    )
    assert "these pairs do not tell which delivers more per hour" in per_hour
    assert "run 2.00 times as fast with on (78.8 against 39.4 tok/s), all responses 1.56 times" in kinds
    assert "these pairs cannot tell from no change" in kinds
    assert tries == (
        "A working patch in 1 or 2 attempts at a task (pass@k, mean over tasks): on 25 %, 25 %; off 38 %, 50 %."
    )
    assert checks.startswith("Checks passed, mean over attempts: on 32 %, off 44 %; over the pairs -11 points (95 % ")
    assert tasks == "This is said of these 4 tasks only; for tasks like them it takes 10 or more."


def test_a_winner_is_named_with_its_evidence() -> None:
    lines = verdict_lines(compared(pairs_of(both=4, first_only=1, second_only=12, neither=3), blocked_pairs=20))
    assert lines[0].startswith("on delivers more working patches than off on these tasks: 16 of 20 against 5 of 20;")
    assert "p = 0.003" in lines[0]
    assert "on delivers more of them per hour" in lines[2]
    assert any("drifts with time" in line for line in lines)


def test_a_winner_tells_what_it_takes_for_granted() -> None:
    pairs = pairs_of(second_only=12)
    assert "Taken for granted" not in verdict_lines(compared(pairs))[0]
    apart = verdict_lines(compared(pairs, blocked_pairs=len(pairs), unproven_pairs=12))[0]
    assert apart.endswith(
        "Taken for granted: nothing drifted with time (the modes ran one after the other) and what is not known of "
        "twelve pairs was equal."
    )


def test_a_winner_needs_no_more_pairs_for_what_it_has_shown() -> None:
    reach = verdict_lines(compared(pairs_of(second_only=6, neither=2)))[1]
    assert reach.startswith("Eight pairs cannot reliably show a difference under 80 points; about")
    assert "the observed one" not in reach


def test_several_comparisons_have_less_power_and_say_so() -> None:
    one, _ = correct([compared(pairs_of(second_only=6, neither=2))] * 2)
    finding, reach = verdict_lines(one)[:2]
    assert "95 % interval of this comparison alone" in finding and one.winner is None
    assert "cannot reliably show a difference under 90 points" in reach
    assert "level 5 % over all 2 comparisons" in reach


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0"), (0.003, "+0.3"), (-0.0099, "-1.0"), (0.0004, "0"), (0.5, "+50")]
)
def test_what_is_not_nothing_does_not_look_like_it(share: float, text: str) -> None:
    assert points(share) == text


@pytest.mark.parametrize(
    ("p", "text"), [(0.0502, "= 0.05020"), (0.0312, "= 0.031"), (0.5, "= 0.50"), (1e-5, "< 0.001")]
)
def test_a_p_value_shows_on_which_side_of_the_level_it_lies(p: float, text: str) -> None:
    assert p_value(p) == text


def test_the_winner_may_be_the_first_mode() -> None:
    lines = verdict_lines(compared(pairs_of(first_only=10, neither=2)))
    assert lines[0].startswith("off delivers more working patches than on on these tasks: 10 of 12 against 0 of 12;")


def test_speed_alone_is_called_speed() -> None:
    slow = [
        type(pair)(pair.task, pair.seed, 0, 8192, an_outcome(1, 400.0), an_outcome(1, 100.0))
        for pair in pairs_of(neither=20)
    ]
    lines = verdict_lines(compared(slow))
    assert lines[0].startswith("No evidence that")
    assert "Attempts of on end sooner (p < 0.001): that is speed, it says nothing about what they deliver." in lines


def test_five_pairs_cannot_show_anything() -> None:
    lines = verdict_lines(compared(pairs_of(second_only=5), invalid_pairs=1))
    assert lines[1].startswith(
        "Five pairs cannot show any difference, however large; about 6 pairs would show the observed one"
    )
    assert "Left out: one invalid pair, not equal but for the mode." in lines
    assert "Tasks have different numbers of pairs and weigh accordingly." in lines


def test_a_correction_is_told() -> None:
    one = compared(pairs_of(second_only=6, neither=2))
    lines = verdict_lines(correct([one, one, one])[0])
    assert lines[0].startswith("No evidence")
    assert "p = 0.094, Holm-corrected for 3 comparisons" in lines[0]


def test_against_nothing_delivered_there_is_no_ratio() -> None:
    lines = verdict_lines(compared(pairs_of(second_only=18, neither=2)), KindOfWork(40.0, 60.0, None, None))
    assert "on 32.4, off 0.0, at least 4." in lines[2]
    assert lines[3].endswith("for whole patches there is no ratio.")


def test_the_p_of_patches_per_hour_is_the_corrected_one() -> None:
    found = compared(pairs_of(both=4, first_only=1, second_only=12, neither=3))
    (alone,) = (line for line in verdict_lines(found) if "per hour (" in line)
    one, _ = correct([found] * 2)
    (several,) = (line for line in verdict_lines(one) if "per hour (" in line)
    assert found.rates is not None and one.rates is not None
    assert one.rates.p_adjusted == 2 * one.rates.p == 2 * found.rates.p_adjusted
    assert alone.endswith(f"(p {p_value(found.rates.p)}).")
    assert several.endswith(f"(p {p_value(2 * found.rates.p)}, corrected for 2 comparisons).")


def test_a_ratio_without_an_upper_end_says_so() -> None:
    found = compared(pairs_of(first_only=2, second_only=1, neither=5))
    assert found.rates is not None
    open_end = replace(found.rates, ratio_interval=Interval(0.0, math.inf, ""))
    per_hour = verdict_lines(replace(found, rates=open_end))[2]
    assert "ratio 0.50 (95 % interval from 0.00; so few patches set no upper end); these pairs" in per_hour
