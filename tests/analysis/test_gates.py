"""The little language of ``--fail-if``."""

from __future__ import annotations

import math

import pytest

from pytest_agentgrade.analysis.gates import GateError, parse_gate

FIGURES = {
    "baseline": {"success_rate": 0.5, "patches_per_hour": 2.0, "difference": 0.0},
    "mtp": {"success_rate": 0.4, "patches_per_hour": 3.0, "difference": -0.1, "speed.short": 80.0, "p": 0.5},
    "endless": {"rates.ratio_interval.high": math.inf},
    "q4.1": {"success_rate": 0.0, "patches_per_hour": None, "difference": None},
    "3bit": {"success_rate": 1.0, "patches_per_hour": 0.5, "difference": 0.5},
}


@pytest.mark.parametrize(
    ("text", "tripped"),
    [
        ("mtp.success_rate < baseline.success_rate - 0.05", True),
        ("mtp.success_rate < baseline.success_rate - 0.15", False),
        ("mtp.success_rate < baseline.success_rate * 0.9 and mtp.patches_per_hour <= 2.9", False),
        ("mtp.success_rate < 0.1 or not mtp.patches_per_hour > 2e0", False),
        ("mtp.success_rate<.5", True),
        ("0 <= mtp.success_rate <= 0.4", True),
        ("0 <= mtp.success_rate < 0.4 == 0.4", False),
        ("-mtp.difference >= +.1", True),
        ("q4.1.success_rate == 0", True),
        ("3bit.success_rate / 2 != 0.5", False),
        ("mtp.speed.short / 2 == 40", True),
        ("endless.rates.ratio_interval.high < 1", False),
        ("(mtp.success_rate + baseline.success_rate) / 2 < 0.46", True),
        ("not (mtp.success_rate < 1)", False),
    ],
)
def test_a_gate_answers(text: str, tripped: bool) -> None:
    result = parse_gate(text).evaluate(FIGURES)
    assert (result.tripped, result.undecided) == (tripped, "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("q4.1.patches_per_hour < 1", "q4.1.patches_per_hour is not known"),
        ("mtp.success_rate / q4.1.success_rate > 0", "division by zero"),
        ("endless.rates.ratio_interval.high * 0 > 1", "inf and 0 come to no number"),
        ("q4.1.difference > 0 and mtp.success_rate < 0", "q4.1.difference is not known"),
    ],
)
def test_a_gate_without_an_answer_trips(text: str, why: str) -> None:
    result = parse_gate(text).evaluate(FIGURES)
    assert result.tripped and why in result.undecided and "undecided" in result.line()


def test_a_figure_that_is_not_needed_may_be_unknown() -> None:
    assert not parse_gate("mtp.success_rate < 0 and q4.1.difference > 0").evaluate(FIGURES).tripped


def test_the_line_shows_what_was_compared() -> None:
    said = {text: parse_gate(text).evaluate(FIGURES).line() for text in (
        "mtp.success_rate < 0.1", "0.5 >= mtp.success_rate + 0.05", "mtp.success_rate > 0 and 1 < 2", "1 < 2",
    )}  # fmt: skip
    assert list(said.values()) == [
        "gate passed: mtp.success_rate (0.4) is not below 0.1",
        "gate FAILED: 0.5 is at least mtp.success_rate + 0.05 (0.45)",
        "gate FAILED: it is so that mtp.success_rate > 0 and 1 < 2: mtp.success_rate is 0.4",
        "gate FAILED: 1 is below 2",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mpt.success_rate < 1", "there is no mode 'mpt' - did you mean 'mtp'?"),
        ("q4.2.success_rate < 1", "there is no mode 'q4.2' - did you mean 'q4.1'?"),
        ("mpt.sucess.rate < 1", "there is no mode 'mpt' - did you mean 'mtp'?"),
        ("mtp.speed.shrot < 1", "there is no metric 'speed.shrot' - did you mean 'speed.short'?"),
        ("mtp.zzz < 1", "there is no metric 'zzz' - docs/comparing.md lists the metrics"),
        ("baseline.p < 1", "'baseline' has no 'p' - it belongs to a mode compared with it: mtp"),
        ("mtp. < 1", "'mtp.' is no MODE.METRIC"),
        ("mtp.sucess_rate < 1", "there is no metric 'sucess_rate' - did you mean 'success_rate'?"),
        ("success_rate < 1", "'success_rate' is no MODE.METRIC - write for example mtp.success_rate"),
        ("mtp.success_rate", "it is a number, not a question"),
        ("mtp.success_rate <", "it is no expression"),
        ("", "it is no expression"),
        ("mtp.success_rate < 1)", "it is no expression"),
        ("mtp.success_rate and mtp.success_rate < 1", "a truth is needed where something else stands"),
        ("(mtp.success_rate < 1) + 1 > 0", "a number is needed where something else stands"),
        ("mtp.success_rate ** 9 > 1", "only numbers, MODE.METRIC"),
        ("mtp.success_rate is 1", "'is' is no MODE.METRIC"),
        ("__import__('os')", "'__import__' is no MODE.METRIC"),
        ("mtp.__class__ < 1", "there is no metric '__class__'"),
        ("[1] < 2", "only numbers, MODE.METRIC"),
        ("{1:2}[1] < 2", "only numbers, MODE.METRIC"),
        ("(1 for _0 in mtp.success_rate) < 1", "'for' is no MODE.METRIC"),
        ("1 if mtp.success_rate < 1 else 2", "'if' is no MODE.METRIC"),
        ("mtp.success_rate(1) < 1", "only numbers, MODE.METRIC"),
        ("1j < 2", "'1j' is no MODE.METRIC"),
        ("'a' < 'b'", "'a' is no MODE.METRIC"),
        ("True", "'True' is no MODE.METRIC"),
        ("(" * 300 + "1" + ")" * 300 + "< 2", "it is no expression"),
        ("1 < " + "9" * 1_000, "is too long"),
    ],
)
def test_everything_else_is_refused_with_a_remedy(text: str, message: str) -> None:
    with pytest.raises(GateError) as caught:
        parse_gate(text).evaluate(FIGURES)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-" * 900 + "mtp.p < 1", "more than 100 operators"),
        ("+".join(["mtp.p"] * 150) + " > 1", "more than 100 operators"),
        ("mtp.p + 1" + "0" * 400 + " > 0", "too large"),
        ("mtp.p < 1e999", "too large"),
    ],
)
def test_a_question_that_python_could_not_work_out_is_refused(text: str, message: str) -> None:
    with pytest.raises(GateError, match=message):
        parse_gate(text)


def test_whole_numbers_overflow_like_others() -> None:
    long = parse_gate(f"mtp.p * 1{'0' * 300} * 1{'0' * 300} > 0").evaluate(FIGURES)
    assert long.tripped and long.line().startswith("gate FAILED: mtp.p")
