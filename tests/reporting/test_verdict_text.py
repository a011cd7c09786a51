"""What people read: never a winner without evidence, and what the pairs cannot show."""

from __future__ import annotations

from pytest_agentgrade.analysis.comparison import correct
from pytest_agentgrade.analysis.figures import KindOfWork
from pytest_agentgrade.reporting.verdict_text import verdict_lines
from tests.analysis.pairs_made_here import an_outcome, compared, pairs_of, study_pairs


def test_the_study_in_plain_sentences() -> None:
    finding, reach, per_hour, kinds, tasks = verdict_lines(compared(study_pairs()), KindOfWork(39.4, 78.8, 36.0, 56.2))
    assert finding.startswith("No evidence that on or off delivers more working patches: on 2 of 8, off 3 of 8")
    assert "exact McNemar p = 1.00" in finding
    assert reach.startswith(
        "Eight pairs cannot reliably show a difference under 80 points; about 62 pairs would show the observed one"
    )
    assert "these pairs do not tell which delivers more per hour" in per_hour
    assert "run 2.00 times as fast with on (78.8 against 39.4 tok/s), all responses 1.56 times" in kinds
    assert "these pairs cannot tell from no change" in kinds
    assert tasks == "This is said of these 4 tasks only; for tasks like them it takes 10 or more."


def test_a_winner_is_named_with_its_evidence() -> None:
    lines = verdict_lines(compared(pairs_of(both=4, first_only=1, second_only=12, neither=3), order="blocked"))
    assert lines[0].startswith("on delivers more working patches than off on these tasks: 16 of 20 against 5 of 20;")
    assert "p = 0.003" in lines[0]
    assert "on delivers more of them per hour" in lines[2]
    assert any("drifts with time" in line for line in lines)


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
