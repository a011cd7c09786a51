"""The one argument of a hidden check: a stranger's package, running elsewhere, asked question by question.

``docs/writing-checks.md`` shows the whole vocabulary with examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from types import TracebackType
from typing import Any, cast

from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.errors import CandidateFailed, TaskAuthorError
from pytest_agentgrade.grading import wire
from pytest_agentgrade.grading.answers import Answer, Handle, answer_for, lane_of, number_of, plain
from pytest_agentgrade.grading.callbacks import Callback, HostIterator, Park, value_reply
from pytest_agentgrade.grading.draw import Draw
from pytest_agentgrade.grading.lanes import Bound, Lane
from pytest_agentgrade.grading.raising import CandidateRaised, ErrorName, Raises, name_of
from pytest_agentgrade.grading.scratch import Scratch
from pytest_agentgrade.grading.session import Limits, Message, Session, Turn
from pytest_agentgrade.grading.transport import Transport
from pytest_agentgrade.submission.tree import Tree

_PIECE = 1_000_000
Result = Answer | Handle


class Candidate:
    """A context manager: lays the tree out in the driver's process, then answers questions about it.

    A tree that cannot be laid out fails at the first question, so that the failure is the check's, not its set-up's.
    Raises HostError when the driver does not start.
    """

    PARK = Park.PARK

    def __init__(self, transport: Transport, task: Task, tree: Tree, seed: int, limits: Limits | None = None) -> None:
        self.session = Session(transport, limits or Limits(), self._upcall)
        self.draw = Draw(seed)
        """This check's random inputs."""
        self.scratch = Scratch(self._ask, transport.scratch)
        """Files in the candidate's current directory."""
        self._task = task
        self._tree = tree
        self._lent: dict[int, Callback | HostIterator] = {}
        self._lanes = 0
        self._own_errors: frozenset[str] = frozenset()
        self._failure: CandidateFailed | None = None
        """The last failure that no ``raises`` block took: a check that swallows it is lost all the same."""
        self._in_upcall = 0
        self._finished = 0
        self._concluded = False

    def __enter__(self) -> Candidate:
        self.session.greet()
        try:
            self._lay_out()
        except CandidateFailed as error:
            self.session.failure = error
        self._failure = None
        self._finished = 0
        self.session.start_clock()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.conclude()

    def dismiss(self) -> None:
        """The check has ended in another way already: leaving the block asks nothing more."""
        self._concluded = True

    def conclude(self) -> None:
        """The check's body is over: raises CandidateFailed unless the candidate is still in turn. Once is enough."""
        if self._concluded:
            return
        self._concluded = True
        if self._failure is not None:
            raise self._failure
        if not self._finished:
            raise TaskAuthorError("a check asked the candidate nothing", "a check that cannot fail is no check")
        if any(turn.lane == 0 for turn in self.session.open_turns()):
            raise TaskAuthorError("a check swallowed what one of its callbacks raised", "let it pass")
        self._ask("end", ())
        self.session.expect_silence()

    def _lay_out(self) -> None:
        own: list[str] = []
        for path, file in self._tree.items():
            for start in range(0, max(1, len(file.data)), _PIECE):
                self._ask("file", (path, file.data[start : start + _PIECE], file.executable))
        for path in self._tree:
            if self._task.is_protected(path) and PurePosixPath(path).name == "errors.py":
                name = path.removesuffix(".py").replace("/", ".")
                own += self._ask("protect", (name, path)).expect(list)
        self._own_errors = frozenset(own)
        self._ask("ready", ())

    # -- calls

    def call(self, target: str, /, *args: Any, **kwargs: Any) -> Result:
        """Call ``"module:attr.path"``."""
        return self._ask("call", (target, *args), kwargs)

    def find(self, target: str) -> Result:
        """``"module:attr.path"`` itself, not called: a constant, a class, a function."""
        return self._ask("find", (target,))

    def invoke(self, target: Handle, /, *args: Any, **kwargs: Any) -> Result:
        """Call an object."""
        return self._ask("invoke", (target, *args), kwargs)

    def bound(self, target: Handle, name: str) -> Bound:
        """A method to be started in a lane."""
        return Bound(target, _public(name))

    def method(self, target: Handle, name: str, /, *args: Any, **kwargs: Any) -> Result:
        """``target.name(...)``, for a name that ``handle.name(...)`` cannot say."""
        return self._ask("method", (target, _public(name), *args), kwargs)

    def attr(self, target: Handle, name: str) -> Result:
        """Read an attribute."""
        return self._ask("attr", (target, _public(name)))

    def setattr(self, target: Handle, name: str, value: Any) -> None:
        """Set an attribute."""
        self._ask("setattr", (target, _public(name), value))

    # -- operators

    def len(self, target: Any) -> Result:
        """``len(target)``."""
        return self._ask("len", (target,))

    def contains(self, target: Any, item: Any) -> Result:
        """``item in target``."""
        return self._ask("contains", (target, item))

    def getitem(self, target: Any, key: Any) -> Result:
        """``target[key]``."""
        return self._ask("getitem", (target, key))

    def setitem(self, target: Any, key: Any, value: Any) -> None:
        """``target[key] = value``."""
        self._ask("setitem", (target, key, value))

    def delitem(self, target: Any, key: Any) -> None:
        """``del target[key]``."""
        self._ask("delitem", (target, key))

    def iter(self, target: Any) -> Result:
        """``iter(target)``."""
        return self._ask("iter", (target,))

    def next(self, iterator: Any) -> Result:
        """``next(iterator)``; its end is a StopIteration that ``raises`` can expect."""
        return self._ask("next", (iterator,))

    def take(self, iterator: Any, count: int) -> Result:
        """A list of the next ``count`` items, or of as many as there are."""
        return self._ask("take", (iterator, count))

    def list(self, target: Any) -> Result:
        """``list(target)``."""
        return self._ask("list", (target,))

    def enter(self, target: Handle) -> Result:
        """``__enter__``; what ``with`` would bind."""
        return self._ask("enter", (target,))

    def exit(self, target: Handle, error: BaseException | None = None) -> Result:
        """``__exit__``, as after a block that raised ``error`` (a builtin or stdlib exception) or nothing."""
        return self._ask("exit", (target,) if error is None else (target, error))

    def same(self, left: Any, right: Any) -> bool:
        """Whether two handles are the same object."""
        return isinstance(left, Handle) and left == right

    def raises(self, *errors: ErrorName) -> Raises:
        """A block whose one question must raise exactly one of these classes."""
        if not errors:
            raise TaskAuthorError("candidate.raises() names no class", 'write candidate.raises(ValueError, "p.errors:E")')
        names = frozenset(name_of(error, self._own_errors) for error in errors)
        return Raises(names, lambda: self._finished, self._forgive, self._attr_of_number)

    # -- what the check lends

    def callback(self, function: Callable[..., Any]) -> Callback:
        """A function for the candidate; it runs here, on the host, with what the candidate passes."""
        callback = Callback(len(self._lent), function)
        self._lent[callback.number] = callback
        return callback

    def iterator(self, items: Iterable[Any], batch: int = 1) -> HostIterator:
        """An iterator for the candidate, fed by an iterable of the host's."""
        iterator = HostIterator(len(self._lent), items, batch)
        self._lent[iterator.number] = iterator
        return iterator

    def lines(self, items: Iterable[str], batch: int = 1) -> HostIterator:
        """An iterator of text lines."""
        return self.iterator(items, batch)

    def lane(self) -> Lane:
        """Another thread of the container."""
        self._lanes += 1
        return Lane(self, self._lanes)

    def connect(self, name: str, lane: Lane | None = None, **options: Any) -> Handle:
        """A sqlite3 connection to a file of the scratch folder; all its methods run in its lane."""
        number = lane.number if lane is not None else 0
        found = self.finish(self.post(number, "connect", (self.scratch.path(name),), options))
        if not isinstance(found, Handle):
            raise CandidateFailed("the connection it was lent came back as something else")
        return Handle(self._ask, number_of(found), number)

    def sql(self, connection: Handle, statement: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> Result:
        """Rows of one statement as a list of tuples, with a cursor of its own."""
        return self._ask("sql", (connection, statement, parameters))

    # -- the machinery

    def post(self, lane: int, op: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Turn:
        """Ask without waiting for the answer."""
        owner = _owner((*args, *kwargs.values()))
        if owner is not None and owner != lane:
            raise TaskAuthorError(f"an object of lane {owner} is used in lane {lane}", "connect in the lane that uses it")
        trees = [self.encode(value) for value in args]
        turn = self.session.post(lane, op, trees, {name: self.encode(value) for name, value in kwargs.items()})
        turn.owner = owner
        return turn

    def finish(self, turn: Turn, timeout: float | None = None) -> Result:
        """Wait for an answer and take it in; raises CandidateFailed for anything but an answer."""
        if not self._in_upcall:
            self._finished += 1
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

    def _ask(self, op: str, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        return self.finish(self.post(_owner((*args, *kwargs.values())) or 0, op, args, kwargs))

    def _attr_of_number(self, number: int, name: str) -> Any:
        return self._ask("attr", (Handle(self._ask, number), _public(name)))

    def _forgive(self) -> None:
        self._failure = None

    def _reference(self, value: Any) -> list[Any]:
        if isinstance(value, Handle):
            return ["h", number_of(value)]
        if isinstance(value, Answer):
            return cast("list[Any]", self.encode(value))
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
            return Handle(self._ask, body[0], turn.owner)

        try:
            return wire.decode(tree, special)
        except wire.WireError as error:
            self.session.fail(f"it answered with {error}")

    def _upcall(self, turn: Turn, message: Message) -> None:
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
            raise TaskAuthorError("a callback parked the main lane", "call what parks in a lane of its own")
        else:
            turn.parked = True

    def _answer_upcall(self, lent: Callback | HostIterator | None, turn: Turn, message: Message) -> Message | None:
        args, kwargs = message.get("args"), message.get("kwargs")
        if lent is None or type(args) is not list or type(kwargs) is not dict:
            self.session.fail("it called something that was not lent to it")
        if isinstance(lent, HostIterator):
            return lent.answer(self.encode)
        given = tuple(answer_for(self._decode(tree, turn)) for tree in args)
        named = {name: answer_for(self._decode(tree, turn)) for name, tree in kwargs.items()}
        return lent.answer(given, named, self.encode)


def _owner(values: Iterable[Any]) -> int | None:
    """The lane that the objects among ``values`` belong to, if any does."""
    owners = {lane_of(value) for value in values if isinstance(value, Handle)} - {None}
    if len(owners) > 1:
        raise TaskAuthorError("one question uses objects of several lanes", "connect in the lane that uses them")
    return owners.pop() if owners else None


def _public(name: str) -> str:
    if name.startswith("__"):
        raise TaskAuthorError(f"a check asks for {name!r}", "use the operators of the candidate: len, contains, enter ...")
    return name
