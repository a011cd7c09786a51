"""What a check lends to a candidate: functions and iterators whose every use the host sees and answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from pytest_agentgrade.errors import AgentGradeError, CandidateFailed, TaskAuthorError
from pytest_agentgrade.grading import wire
from pytest_agentgrade.grading.raising import KNOWN

Encode = Callable[[Any], Any]


class Park(Enum):
    """What a callback returns to keep its caller waiting."""

    PARK = "park"


class Callback:
    """A host function that candidate code may call."""

    def __init__(self, number: int, function: Callable[..., Any]) -> None:
        self.number = number
        self.calls: list[tuple[Any, ...]] = []
        """Positional arguments of every call, as the host saw them."""
        self._function = function
        self._signature = inspect.signature(function)

    def __repr__(self) -> str:
        return f"<callback {self.number} of the check>"

    def answer(self, args: tuple[Any, ...], kwargs: dict[str, Any], encode: Encode) -> dict[str, Any] | None:
        """The reply to one call, None to park it."""
        self.calls.append(args)
        try:
            self._signature.bind(*args, **kwargs)
        except TypeError as error:
            return error_reply(error, encode)
        try:
            value = self._function(*args, **kwargs)
        except Exception as error:
            return error_reply(error, encode)
        return None if value is Park.PARK else value_reply(value, encode)


class HostIterator:
    """A host iterable that candidate code draws from; at most ``batch`` items are handed out at a time."""

    def __init__(self, number: int, items: Iterable[Any], batch: int) -> None:
        self.number = number
        self.pulled = 0
        """Items handed out so far."""
        self._items = iter(items)
        self._batch = batch

    def __repr__(self) -> str:
        return f"<iterator {self.number} of the check>"

    def answer(self, encode: Encode) -> dict[str, Any]:
        """The next batch, and how the series ends if it does."""
        batch: list[Any] = []
        end: dict[str, Any] = {"end": None}
        while len(batch) < self._batch:
            try:
                batch.append(encode(next(self._items)))
            except StopIteration:
                end = {"end": "stop"}
                break
            except Exception as error:
                end = {**error_reply(error, encode), "end": "raise"}
                break
        self.pulled += len(batch)
        return {"items": batch, **end}


def value_reply(value: Any, encode: Encode) -> dict[str, Any]:
    """Let the caller go on with ``value``."""
    return {"value": encode(value)}


def error_reply(error: BaseException, encode: Encode) -> dict[str, Any]:
    """Let the caller see ``error`` raised. What is the check's own business is raised here instead."""
    if isinstance(error, AssertionError | CandidateFailed | AgentGradeError) or not isinstance(error, Exception):
        raise error
    name = wire.error_name(type(error))
    if KNOWN.get(name) is not type(error):
        raise TaskAuthorError(f"a callback raised {name}, which the driver does not know") from error
    return {"error": name, "args": encode(error.args)}
