"""How a check ended, and whose doing it was."""

from __future__ import annotations

import linecache
import traceback
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from pytest_agentgrade.errors import AgentGradeError, CandidateFailed, Fault
from pytest_agentgrade.escaping import escape

REASON_CHARACTERS = 2_000


class Outcome(Enum):
    """Passed and failed are the candidate's; an error says nothing about it."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"


@dataclass(frozen=True)
class Verdict:
    """One check, one candidate."""

    check: str
    beyond: bool
    outcome: Outcome
    reason: str
    """Empty when passed; escaped."""
    seconds: float
    draw_n: int
    seed: int
    fault: Fault | None = None
    """Whose fault an error is."""


class Classified(NamedTuple):
    """What an exception that left a check means."""

    outcome: Outcome
    reason: str
    """Escaped; lines are kept."""
    fault: Fault | None


def classify(error: BaseException | None, _candidate: object = None) -> Classified:
    """Sort what a check raised. Only AssertionError and CandidateFailed are failures.

    Everything else - a skip, an expected failure, any other exception - is a task author's error, except this
    package's own faults, which say whose they are, and MemoryError, which is the host's: a candidate's memory is
    not ours. KeyboardInterrupt is raised again.
    """
    if error is None:
        return Classified(Outcome.PASSED, "", None)
    if isinstance(error, KeyboardInterrupt):
        raise error
    if isinstance(error, MemoryError):
        what = "no memory was left on this machine for the check itself"
        return Classified(Outcome.ERROR, f"MemoryError: {what} ({_failing_line(error)})", Fault.HOST)
    text = escape(str(error), REASON_CHARACTERS, keep_newlines=True)
    if isinstance(error, CandidateFailed):
        return Classified(Outcome.FAILED, text, None)
    if isinstance(error, AssertionError):
        return Classified(Outcome.FAILED, text or _failing_line(error), None)
    if isinstance(error, AgentGradeError):
        return Classified(Outcome.ERROR, text, error.fault)
    where = _failing_line(error)
    return Classified(Outcome.ERROR, f"{type(error).__name__}: {text} ({where})", Fault.TASK_AUTHOR)


def _failing_line(error: BaseException) -> str:
    """The statement of the check that did not hold: assertions say nothing by themselves outside pytest."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return "assertion failed"
    last = frames[-1]
    source = (last.line or linecache.getline(last.filename, last.lineno or 0)).strip()
    return escape(f"line {last.lineno}: {source}", REASON_CHARACTERS)
