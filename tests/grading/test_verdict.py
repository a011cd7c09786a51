"""Only what a candidate did is a failure."""

from __future__ import annotations

import pytest

from pytest_agentgrade.errors import CandidateFailed, EngineUnavailable, Fault, HostError, TaskAuthorError
from pytest_agentgrade.grading.verdict import Outcome, classify


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


@pytest.mark.parametrize(
    ("error", "outcome", "fault"),
    [
        (None, Outcome.PASSED, None),
        (AssertionError("1 == 2"), Outcome.FAILED, None),
        (CandidateFailed("it raised KeyError"), Outcome.FAILED, None),
        (HostError("disk full"), Outcome.ERROR, Fault.HOST),
        (EngineUnavailable("no engine"), Outcome.ERROR, Fault.HOST),
        (TaskAuthorError("its truth"), Outcome.ERROR, Fault.TASK_AUTHOR),
        (KeyError("x"), Outcome.ERROR, Fault.TASK_AUTHOR),
        (TimeoutError(), Outcome.ERROR, Fault.TASK_AUTHOR),
        (MemoryError(), Outcome.ERROR, Fault.HOST),
        (SystemExit(0), Outcome.ERROR, Fault.TASK_AUTHOR),
        (pytest.skip.Exception("no"), Outcome.ERROR, Fault.TASK_AUTHOR),
        (pytest.xfail.Exception("no"), Outcome.ERROR, Fault.TASK_AUTHOR),
        (pytest.fail.Exception("no"), Outcome.ERROR, Fault.TASK_AUTHOR),
    ],
)
def test_classes(error: BaseException | None, outcome: Outcome, fault: Fault | None) -> None:
    found = classify(error)
    assert (found.outcome, found.fault) == (outcome, fault)
    assert (found.reason == "") is (error is None)


def test_keyboard_interrupt_of_the_host_goes_on() -> None:
    with pytest.raises(KeyboardInterrupt):
        classify(KeyboardInterrupt())


def test_bare_assertion_shows_its_line() -> None:
    def fail() -> None:
        raise AssertionError  # like a bare assert outside pytest

    try:
        fail()
    except AssertionError as error:
        assert "raise AssertionError  # like a bare assert" in classify(error).reason


def test_reason_is_escaped_and_keeps_lines() -> None:
    reason = classify(AssertionError("a\nb\x1b[31m" + "x" * 5_000)).reason
    assert reason.startswith("a\nb\\x1b[31mxxx")
    assert len(reason) < 2_100
