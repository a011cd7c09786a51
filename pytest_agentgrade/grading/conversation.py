"""One conversation with a candidate: its tree goes in, questions go out, values and upcalls are taken in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.errors import CandidateFailed, TaskAuthorError
from pytest_agentgrade.grading import wire
from pytest_agentgrade.grading.answers import Answer, Handle, answer_for, lane_of, number_of, plain
from pytest_agentgrade.grading.callbacks import Callback, HostIterator
from pytest_agentgrade.grading.raising import CandidateRaised, name_of
from pytest_agentgrade.grading.session import Limits, Session, Turn
from pytest_agentgrade.grading.transport import Transport
from pytest_agentgrade.grading.wire import Message
from pytest_agentgrade.submission.tree import Tree

_PIECE = 1_000_000
_PIECES = 1_000
_ARGUMENTS = 255
_NESTED_UPCALLS = 40
"""A callback that asks, in an answer that calls back: each level takes about ten frames of the host's stack."""
Arguments = tuple[Any, ...]


class Conversation:
    """What a :class:`Candidate` says its words through."""

    def __init__(self, transport: Transport, limits: Limits) -> None:
        self.session = Session(transport, limits, self._upcall)
        self.own_errors: frozenset[str] = frozenset()
        """Names of the exception classes the task's protected modules define."""
        self.finished = 0
        """Answers waited for, those within upcalls left out."""
        self._failure: CandidateFailed | None = None
        self._lent: dict[int, Callback | HostIterator] = {}
        self._in_upcall = 0

    def open(self, task: Task, tree: Tree) -> None:
        """Lay the tree out. One that cannot be is a failure of the first question, not of the check's set-up."""
        self.session.greet()
        try:
            self._lay_out(task, tree)
        except CandidateFailed as error:
            self.session.failure = error
        self.finished = 0
        self.session.start_clock()

    def conclude(self) -> None:
        """After a check that raised nothing: was it a check, and is the candidate still in turn?

        Raises the last failure that no ``raises`` block took: swallowing it does not help.
        """
        if self._failure is not None:
            raise self._failure
        if not self.finished:
            raise TaskAuthorError("a check asked the candidate nothing", "a check that cannot fail is no check")
        if any(turn.lane == 0 for turn in self.session.open_turns()):
            raise TaskAuthorError("a check swallowed what one of its callbacks raised", "let it pass")
        self.ask("end", ())
        self.session.expect_silence()

    def _lay_out(self, task: Task, tree: Tree) -> None:
        own: list[str] = []
        for pieces in _shipments(tree):
            self.ask("tree", (pieces,))
        for path in tree:
            if task.is_protected(path) and PurePosixPath(path).name == "errors.py":
                name = path.removesuffix(".py").replace("/", ".")
                own += self.ask("protect", (name, path)).expect(list)
        self.own_errors = frozenset(own)
        self.ask("ready", ())

    def lend(self, made: Callback | HostIterator) -> None:
        """From now on the candidate may use it."""
        self._lent[made.number] = made

    def next_number(self) -> int:
        """The number of the next thing to be lent."""
        return len(self._lent)

    def post(self, lane: int, op: str, args: Arguments, kwargs: Mapping[str, Any]) -> Turn:
        """Ask without waiting for the answer."""
        owner = _owner((*args, *kwargs.values()))
        if owner is not None and owner != lane:
            raise TaskAuthorError(f"an object of lane {owner} is used in lane {lane}", "use it where it was made")
        trees = [self.encode(value) for value in args]
        turn = self.session.post(lane, op, trees, {name: self.encode(value) for name, value in kwargs.items()})
        turn.owner = owner
        turn.asked = f"{args[0]}()" if op == "call" else ""
        return turn

    def finish(self, turn: Turn, timeout: float | None = None) -> Any:
        """Wait for an answer and take it in; raises CandidateFailed for anything but an answer."""
        if not self._in_upcall:
            self.finished += 1
        try:
            reply = self.session.wait(turn, timeout)
            if reply.get("kind") == "answer":
                return answer_for(self._decode(reply.get("value"), turn))
            raise CandidateRaised(reply, self._decode(reply.get("args"), turn))
        except CandidateFailed as error:
            self._failure = error
            raise

    def encode(self, value: Any) -> Any:
        """A value of the check's for the driver. Raises TaskAuthorError for one that cannot travel."""
        try:
            return wire.encode(plain(value), self._reference)
        except wire.WireError as error:
            raise TaskAuthorError(f"a check sends {error}") from error

    def ask(self, op: str, args: Arguments, kwargs: Mapping[str, Any] | None = None) -> Any:
        """Ask and wait, in the lane that the objects among the arguments belong to."""
        kwargs = kwargs or {}
        return self.finish(self.post(_owner((*args, *kwargs.values())) or 0, op, args, kwargs))

    def attr_of(self, number: int, name: str) -> Any:
        """An attribute of an object known by number."""
        return self.ask("attr", (Handle(self.ask, number), public(name)))

    def forgive(self) -> None:
        """The last failure was what the check wanted."""
        self._failure = None

    def _reference(self, value: Any) -> list[Any]:
        if isinstance(value, Handle):
            return ["h", number_of(value)]
        if isinstance(value, Answer):
            encoded: list[Any] = self.encode(value)
            return encoded
        if isinstance(value, Callback):
            return ["c", value.number]
        if isinstance(value, HostIterator):
            return ["it", value.number]
        if isinstance(value, BaseException):
            return ["e", name_of(type(value), frozenset()), self.encode(value.args)]
        raise TaskAuthorError(f"a check sends a {type(value).__name__}, which cannot travel", "send plain values")

    def _decode(self, tree: Any, turn: Turn) -> Any:
        def special(tag: str, body: list[Any]) -> Handle:
            if tag != "h" or len(body) != 1 or type(body[0]) is not int or body[0] < 0:
                raise wire.WireError("a reference of no known kind")
            return Handle(self.ask, body[0], turn.owner, turn.asked)

        try:
            return wire.decode(tree, special)
        except wire.WireError as error:
            self.session.fail(f"it answered with {error}")

    def _upcall(self, turn: Turn, message: Message) -> None:
        if self._in_upcall >= _NESTED_UPCALLS:
            self.session.fail("its calls of what it was lent nest too deep")
        number = message.get("to")
        lent = self._lent.get(number) if type(number) is int else None
        self._in_upcall += 1
        try:
            reply = self._answer_upcall(lent, turn, message)
        finally:
            self._in_upcall -= 1
        if reply is not None:
            self.session.reply_upcall(turn, reply)
        elif turn.lane == 0:
            self.session.fail("it called what parks, in the main lane")
        else:
            turn.parked = True

    def _answer_upcall(self, lent: Callback | HostIterator | None, turn: Turn, message: Message) -> Message | None:
        args, kwargs = message.get("args"), message.get("kwargs")
        if lent is None or type(args) is not list or type(kwargs) is not dict:
            self.session.fail("it called something that was not lent to it")
        if isinstance(lent, HostIterator):
            return lent.answer(self.encode)
        if len(args) + len(kwargs) > _ARGUMENTS:
            self.session.fail(f"it called with more than {_ARGUMENTS} arguments")
        given = tuple(answer_for(self._decode(tree, turn)) for tree in args)
        named = {name: answer_for(self._decode(tree, turn)) for name, tree in kwargs.items()}
        return lent.answer(given, named, self.encode)


def _shipments(tree: Tree) -> Iterator[list[tuple[str, bytes, bool]]]:
    """The tree as lists of (path, bytes to append, executable), each small enough for one message."""
    waiting: list[tuple[str, bytes, bool]] = []
    size = 0
    for path, file in tree.items():
        for start in range(0, max(1, len(file.data)), _PIECE):
            piece = file.data[start : start + _PIECE]
            if waiting and (size + len(piece) > _PIECE or len(waiting) >= _PIECES):
                yield waiting
                waiting, size = [], 0
            waiting.append((path, piece, file.executable))
            size += len(piece)
    if waiting:
        yield waiting


def _owner(values: Iterable[Any]) -> int | None:
    """The lane that the objects among ``values`` belong to, if any does."""
    owners = {lane_of(value) for value in values if isinstance(value, Handle)} - {None}
    if len(owners) > 1:
        raise TaskAuthorError("one question uses objects of several lanes", "connect in the lane that uses them")
    return owners.pop() if owners else None


def public(name: str) -> str:
    """An attribute or method name that a check may use. Raises TaskAuthorError for a dunder name."""
    if name.startswith("__"):
        raise TaskAuthorError(f"a check asks for {name!r}", "use candidate.len, .contains, .enter ...")
    return name
