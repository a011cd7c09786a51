"""``candidate.raises``: the one way a check accepts an exception."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Protocol

from pytest_agentgrade.errors import CandidateFailed, TaskAuthorError
from pytest_agentgrade.escaping import escape
from pytest_agentgrade.grading import wire
from pytest_agentgrade.grading.answers import Answer

ErrorName = type[BaseException] | str
"""A builtin or stdlib class, or ``"package.errors:Name"`` for one of the task's own."""

KNOWN = wire.known_errors()


class CandidateRaised(CandidateFailed):
    """Candidate code raised; lost unless a ``candidate.raises`` block expects just this."""

    def __init__(self, message: Mapping[str, Any], args: object) -> None:
        self.kinds = tuple(kind for kind in _texts(message.get("kinds")))
        """Names of the most specific known classes: one for an ordinary exception."""
        self.error_args = args
        text = message.get("text")
        self.text = text if type(text) is str else None
        self.number = message.get("error")
        kind = message.get("type")
        shown = escape(kind, 100) if type(kind) is str else "something"
        super().__init__(f"it raised {shown}: {escape(self.text or '', 300)}")


def _texts(value: object) -> list[str]:
    return [item for item in value if type(item) is str] if type(value) is list else []


def name_of(error: ErrorName, own: frozenset[str]) -> str:
    """The name under which the driver reports a class. Raises TaskAuthorError for one it cannot know."""
    if isinstance(error, type) and issubclass(error, BaseException):
        name = wire.error_name(error)
        if name in KNOWN:
            return name
        raise TaskAuthorError(f"exception class {name} is not one the driver knows", "see wire.KNOWN_MODULES")
    if error in own:
        return str(error)
    near = difflib.get_close_matches(str(error), own, 1)
    raise TaskAuthorError(f"no protected module defines {error!r}", f"did you mean {near[0]!r}?" if near else "")


class Asked(Protocol):
    """What a block needs to know of the conversation."""

    finished: int

    def forgive(self) -> None:
        """The last failure was what the check wanted."""

    def attr_of(self, number: int, name: str) -> Any:
        """An attribute of an object known by number."""


class Raises:
    """The block: passes when the one question in it raises exactly one of the classes given."""

    def __init__(self, expected: frozenset[str], asked: Asked) -> None:
        self._expected = expected
        self._asked = asked
        self._before = 0
        self._caught: CandidateRaised | None = None

    def __repr__(self) -> str:
        return f"<raised {' or '.join(sorted(self._expected))}>"

    def __enter__(self) -> Raises:
        self._before = self._asked.finished
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        expected = " or ".join(sorted(self._expected))
        if error is None:
            if self._asked.finished == self._before:
                raise TaskAuthorError("a candidate.raises block asked the candidate nothing")
            raise CandidateFailed(f"it did not raise {expected}")
        if not isinstance(error, CandidateRaised):
            return False
        if self._asked.finished - self._before > 1:
            raise CandidateFailed(f"the first question of a raises block did not raise {expected}")
        if len(error.kinds) != 1 or error.kinds[0] not in self._expected:
            raise CandidateFailed(f"expected {expected}: {error}") from None
        self._caught = error
        self._asked.forgive()
        return True

    def _error(self) -> CandidateRaised:
        if self._caught is None:
            raise TaskAuthorError("what a candidate.raises block caught is known only after the block")
        return self._caught

    @property
    def args(self) -> Answer:
        """The exception's ``args``."""
        return Answer(self._error().error_args)

    @property
    def text(self) -> Answer:
        """``str()`` of the exception; None when it has no honest one."""
        return Answer(self._error().text)

    def attr(self, name: str) -> Any:
        """An attribute of the exception."""
        number = self._error().number
        if type(number) is not int:
            raise CandidateFailed("it raised an exception that cannot be looked at")
        return self._asked.attr_of(number, name)
