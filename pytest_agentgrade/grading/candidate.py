"""The one argument of a hidden check: a stranger's package, running elsewhere, asked question by question.

``docs/writing-checks.md`` shows the whole vocabulary with examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.errors import CandidateFailed, TaskAuthorError
from pytest_agentgrade.grading.answers import Handle, number_of
from pytest_agentgrade.grading.callbacks import Callback, HostIterator, Park
from pytest_agentgrade.grading.conversation import Conversation, public
from pytest_agentgrade.grading.draw import Draw
from pytest_agentgrade.grading.lanes import Bound, Lane
from pytest_agentgrade.grading.raising import ErrorName, Raises, name_of
from pytest_agentgrade.grading.scratch import Scratch
from pytest_agentgrade.grading.session import Limits
from pytest_agentgrade.grading.transport import Transport
from pytest_agentgrade.submission.tree import Tree

Result = Any
"""An Answer (a plain value) or a Handle (an object that stays in the container), as the candidate pleases."""


class Candidate:
    """A context manager: lays the tree out in the driver's process, then answers questions about it.

    A tree that cannot be laid out fails at the first question, so that the failure is the check's, not its set-up's.
    Raises HostError when the driver does not start.
    """

    PARK = Park.PARK

    def __init__(self, transport: Transport, task: Task, tree: Tree, seed: int, limits: Limits | None = None) -> None:
        self._conversation = Conversation(transport, limits or Limits())
        self._ask = self._conversation.ask
        self._task = task
        self._tree = tree
        self._lanes = 0
        self._over = False
        self.draw = Draw(seed)
        """This check's random inputs."""
        self.scratch = Scratch(self._ask, transport.scratch)
        """Files in the candidate's current directory."""

    def __repr__(self) -> str:
        """As it is called in a check: pytest shows it where it explains an assertion."""
        return "candidate"

    def __enter__(self) -> Candidate:
        self._conversation.open(self._task, self._tree)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and not self._over:
            self.conclude()

    def conclude(self) -> None:
        """The check's body is over and raised nothing: was it a check, and is the candidate still in turn?

        Leaving the context does this too, unless it was done or the candidate dismissed.
        """
        self._over = True
        self._conversation.conclude()

    def dismiss(self) -> None:
        """Ask nothing more, whatever the check did."""
        self._over = True

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
        return Bound(target, public(name))

    def method(self, target: Handle, name: str, /, *args: Any, **kwargs: Any) -> Result:
        """``target.name(...)``, for a name that ``handle.name(...)`` cannot say."""
        return self._ask("method", (target, public(name), *args), kwargs)

    def attr(self, target: Handle, name: str) -> Result:
        """Read an attribute."""
        return self._ask("attr", (target, public(name)))

    def setattr(self, target: Handle, name: str, value: Any) -> None:
        """Set an attribute."""
        self._ask("setattr", (target, public(name), value))

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
            raise TaskAuthorError("candidate.raises() names no class", "name the ones expected")
        names = frozenset(name_of(error, self._conversation.own_errors) for error in errors)
        return Raises(names, self._conversation)

    # -- what the check lends

    def callback(self, function: Callable[..., Any]) -> Callback:
        """A function for the candidate; it runs here, on the host, with what the candidate passes."""
        callback = Callback(self._conversation.next_number(), function)
        self._conversation.lend(callback)
        return callback

    def iterator(self, items: Iterable[Any], batch: int = 1) -> HostIterator:
        """An iterator for the candidate, fed by an iterable of the host's."""
        iterator = HostIterator(self._conversation.next_number(), items, batch)
        self._conversation.lend(iterator)
        return iterator

    def lines(self, items: Iterable[str], batch: int = 1) -> HostIterator:
        """An iterator of text lines."""
        return self.iterator(items, batch)

    def lane(self) -> Lane:
        """Another thread of the container."""
        self._lanes += 1
        return Lane(self._conversation, self._lanes)

    def connect(self, name: str, lane: Lane | None = None, **options: Any) -> Handle:
        """A sqlite3 connection to a file of the scratch folder; all its methods run in its lane."""
        number = lane.number if lane is not None else 0
        talk = self._conversation
        found = talk.finish(talk.post(number, "connect", (self.scratch.path(name),), options))
        if not isinstance(found, Handle):
            raise CandidateFailed("the connection it was lent came back as something else")
        return Handle(self._ask, number_of(found), number)

    def sql(self, connection: Handle, statement: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> Result:
        """Rows of one statement as a list of tuples, with a cursor of its own."""
        return self._ask("sql", (connection, statement, parameters))
