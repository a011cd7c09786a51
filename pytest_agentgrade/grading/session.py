"""The host's end of one conversation with a driver: who is in turn, how long it may take, what ends it.

Whatever a candidate does with the pipe - extra bytes, a message out of turn, silence, its end - is the candidate's
failure. The host's own trouble is read from the transport's ``ending()`` alone.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from pytest_agentgrade.errors import CandidateFailed, HostError, TaskAuthorError
from pytest_agentgrade.escaping import escape
from pytest_agentgrade.grading import wire
from pytest_agentgrade.grading.transport import Transport, Who
from pytest_agentgrade.grading.wire import Message

GREETING_SECONDS = 60.0


@dataclass(frozen=True)
class Limits:
    """Wall-clock seconds a candidate gets."""

    question: float = 20.0
    """From a question to its answer, the host's part in upcalls included."""
    check: float = 60.0
    """All questions of one check together."""


@dataclass(eq=False)
class Turn:
    """One question that is out."""

    lane: int
    token: str
    deadline: float
    reply: Message | None = None
    upcall: Message | None = None
    """The call of candidate code that the host has not answered yet."""
    parked: bool = False
    """Whether the host means to answer it later."""
    owner: int | None = None
    """The lane that what comes back belongs to, None for any."""
    asked: str = ""
    """What was called, for people."""


@dataclass
class Session:
    """Questions, answers and upcalls over one transport; used by one thread."""

    transport: Transport
    limits: Limits
    host_call: Callable[[Turn, Message], None]
    """Answers an upcall (through ``reply_upcall``) or parks it."""
    clock: Callable[[], float] = time.monotonic
    failure: CandidateFailed | None = None
    """Once the conversation has broken, the reason: every later question fails with it."""
    _turns: dict[int, list[Turn]] = field(default_factory=dict)
    _buffer: bytearray = field(default_factory=bytearray)
    _check_deadline: float = float("inf")

    def greet(self) -> None:
        """Wait for the driver's greeting. Nothing of the candidate's is there yet: trouble here is the host's."""
        try:
            message = self._next_message(self.clock() + GREETING_SECONDS)
        except (TimeoutError, CandidateFailed) as error:
            why = self.transport.complaint() or str(error) or "no greeting"
            raise HostError(f"the driver did not start: {why}", "run `agentgrade doctor`") from error
        if message.get("kind") != "hello":
            raise HostError("the driver did not start: an odd greeting", "run `agentgrade doctor`")

    def start_clock(self) -> None:
        """From now on the check's own limit runs."""
        self._check_deadline = self.clock() + self.limits.check

    def post(self, lane: int, op: str, args: list[Any], kwargs: Mapping[str, Any]) -> Turn:
        """Ask without waiting; the values are encoded already. Raises TaskAuthorError when the lane is busy."""
        self._stop_if_failed()
        turns = self._turns.setdefault(lane, [])
        if turns and (turns[-1].upcall is None or turns[-1].parked):
            raise TaskAuthorError(f"lane {lane} was asked while it still owes an answer", "use another lane")
        turn = Turn(lane, secrets.token_hex(8), self._deadline())
        if self._buffer and not self.open_turns():
            self.fail("it spoke without being asked")
        turns.append(turn)
        self._send({"op": op, "lane": lane, "id": turn.token, "args": args, "kwargs": kwargs}, turn.deadline)
        return turn

    def wait(self, turn: Turn, timeout: float | None = None) -> Message:
        """The driver's reply to ``turn``: kind ``answer`` or ``raise``."""
        self._stop_if_failed()
        if timeout is not None:
            turn.deadline = min(self.clock() + timeout, self._check_deadline)
        while turn.reply is None:
            if turn.parked:
                self.fail(f"it called what parks lane {turn.lane}, so that no result can come")
            try:
                self._dispatch(self._next_message(turn.deadline))
            except TimeoutError:
                self.fail("it gave no answer in time")
        self._turns[turn.lane].remove(turn)
        if turn.reply["kind"] == "refused":
            raise CandidateFailed(f"it answered with {_line(turn.reply.get('reason'))}")
        return turn.reply

    def quiet(self, turn: Turn, settle: float) -> bool:
        """Listen until ``turn`` is answered or parked (False), or its lane is silent for ``settle`` seconds (True)."""
        self._stop_if_failed()
        deadline = self.clock() + settle
        while turn.reply is None and not turn.parked:
            try:
                message = self._next_message(min(deadline, self._check_deadline))
            except TimeoutError:
                if self.clock() >= self._check_deadline:
                    self.fail("the check's time is over")
                return True
            self._dispatch(message)
            if message.get("lane") == turn.lane:
                deadline = self.clock() + settle
        return False

    def reply_upcall(self, turn: Turn, reply: Message) -> None:
        """Answer the upcall that ``turn`` is held up by; its clock starts anew."""
        assert turn.upcall is not None
        number, turn.upcall, turn.parked = turn.upcall["n"], None, False
        turn.deadline = self._deadline()
        self._send({**reply, "lane": turn.lane, "n": number}, turn.deadline)

    def open_turns(self) -> list[Turn]:
        """Questions whose answers nobody has fetched."""
        return [turn for turns in self._turns.values() for turn in turns]

    def fail(self, reason: str) -> NoReturn:
        """Break off: the candidate has lost this check."""
        self.failure = self.failure or CandidateFailed(reason)
        raise self.failure

    def _stop_if_failed(self) -> None:
        if self.failure is not None:
            raise self.failure

    def _deadline(self) -> float:
        return min(self.clock() + self.limits.question, self._check_deadline)

    def expect_silence(self) -> None:
        """After the last answer nothing more may come.

        Between questions that needs no look: a message that comes early cannot carry the next question's token.
        """
        try:
            early = self._buffer or self.transport.receive(0.0)
        except TimeoutError:
            return
        if early:
            self.fail("it spoke without being asked")
        self._gone()

    def _send(self, message: Message, deadline: float) -> None:
        try:
            data = wire.pack(message)
        except wire.WireError as error:  # the check's own values are within the caps: the rest is what it was given
            self.fail(f"what it gave makes too large a question: {error}")
        try:
            self.transport.send(data, max(0.0, deadline - self.clock()))
        except TimeoutError:
            self.fail("it took no more questions")
        except BrokenPipeError:
            self._gone()

    def _next_message(self, deadline: float) -> Message:
        size = wire.HEADER
        try:
            self._fill(size, deadline)
            size += wire.frame_length(bytes(self._buffer[: wire.HEADER]))
            self._fill(size, deadline)
            text = bytes(self._buffer[wire.HEADER : size])
            del self._buffer[:size]
            return wire.unpack(text)
        except wire.WireError as error:
            self.fail(f"it wrote {escape(str(error), 300)}")

    def _fill(self, size: int, deadline: float) -> None:
        while len(self._buffer) < size:
            left = deadline - self.clock()
            if left <= 0:  # a candidate that never stops talking is late as well
                raise TimeoutError
            data = self.transport.receive(left)
            if not data:
                self._gone()
            self._buffer += data

    def _gone(self) -> NoReturn:
        end = self.transport.ending()
        if end.who is Who.HOST:
            raise HostError(f"the judge's container broke: {end.text}")
        self.fail(end.text)

    def _dispatch(self, message: Message) -> None:
        lane = message.get("lane")
        turns = self._turns.get(lane, []) if type(lane) is int else []
        turn = turns[-1] if turns else None
        if turn is None or turn.reply is not None or turn.upcall is not None:
            self.fail("it spoke out of turn")
        kind = message.get("kind")
        if kind == "upcall" and type(message.get("n")) is int:
            turn.upcall = message
            self.host_call(turn, message)
        elif kind in ("answer", "raise", "refused") and message.get("id") == turn.token:
            turn.reply = message
        else:
            self.fail("it wrote a message of no known kind")


def _line(text: object) -> str:
    return escape(text, 300) if type(text) is str else "nothing that can be read"
