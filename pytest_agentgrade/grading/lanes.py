"""Threads of the container, steered from the host: the way to check concurrency without racing."""

from __future__ import annotations

from typing import Any, NamedTuple

from pytest_agentgrade.errors import TaskAuthorError
from pytest_agentgrade.grading.answers import Handle
from pytest_agentgrade.grading.callbacks import error_reply, value_reply
from pytest_agentgrade.grading.conversation import Conversation
from pytest_agentgrade.grading.session import Turn


class Bound(NamedTuple):
    """A method of an object in the container, to be started in a lane."""

    target: Handle
    name: str


class Lane:
    """One thread of the container. It runs one call at a time."""

    def __init__(self, conversation: Conversation, number: int) -> None:
        self.number = number
        self._conversation = conversation
        self._turn: Turn | None = None

    def __repr__(self) -> str:
        return f"<lane {self.number}>"

    def start(self, target: str | Bound | Handle, /, *args: Any, **kwargs: Any) -> None:
        """Begin a call and do not wait: ``"module:attr"``, ``candidate.bound(handle, name)``, or an object to call."""
        if self._turn is not None:
            raise TaskAuthorError(f"lane {self.number} has a call whose result was not fetched", "call .result() first")
        if isinstance(target, Bound):
            self._turn = self._conversation.post(self.number, "method", (target.target, target.name, *args), kwargs)
        else:
            op = "call" if isinstance(target, str) else "invoke"
            self._turn = self._conversation.post(self.number, op, (target, *args), kwargs)

    def state(self, settle: float = 1.0) -> str:
        """``done``, ``parked`` (in a callback that returned PARK) or ``blocked`` (silent for ``settle`` seconds)."""
        turn = self._started()
        if self._conversation.session.quiet(turn, settle):
            return "blocked"
        return "parked" if turn.parked else "done"

    def resume(self, value: Any = None) -> None:
        """Let the parked callback return ``value``."""
        self._conversation.session.reply_upcall(self._parked(), value_reply(value, self._conversation.encode))

    def resume_raise(self, error: BaseException) -> None:
        """Let the parked callback raise ``error`` (a builtin or stdlib exception)."""
        self._conversation.session.reply_upcall(self._parked(), error_reply(error, self._conversation.encode))

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the call's end (at most ``timeout`` seconds more) and give what it gave; raises like ``call``."""
        turn, self._turn = self._started(), None
        return self._conversation.finish(turn, timeout)

    def call(self, target: str | Bound | Handle, /, *args: Any, **kwargs: Any) -> Any:
        """``start`` and ``result``."""
        self.start(target, *args, **kwargs)
        return self.result()

    def _started(self) -> Turn:
        if self._turn is None:
            raise TaskAuthorError(f"lane {self.number} has no call under way", "call .start() first")
        return self._turn

    def _parked(self) -> Turn:
        turn = self._started()
        if not turn.parked:
            self._conversation.session.fail(f"it has not called what parks lane {self.number}")
        return turn
