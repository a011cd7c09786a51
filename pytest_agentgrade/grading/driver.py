"""The program in a judge's container: the same for every check, it knows none of them.

It does what the host asks - call this, read that - and reports what came out. It runs as ``python3 -I -S -B -c``
(see ``program.py``), has imported all it needs and hidden its own file descriptors before the candidate's tree
arrives, and looks names of builtins up in its own copy. That is hygiene, so that an ordinary candidate cannot break
it by accident. A hostile one shares the process and may rewrite all of this; it gains nothing, because whatever
answers, the host compares it with what only the host knows.
"""
# os and io are there already, and the import system sets the signatures of its methods:
# ruff: noqa: PTH101, PTH103, PTH120, ARG002

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from types import ModuleType
from typing import Any

from pytest_agentgrade.grading.driver_channel import Channel, Objects
from pytest_agentgrade.grading.driver_operations import OPERATIONS
from pytest_agentgrade.grading.wire import Message, WireError, decode, encode, encode_many, known_errors

_mro_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_name_of: Callable[[type], str] = type.__dict__["__qualname__"].__get__
_args_of: Callable[[BaseException], tuple[Any, ...]] = BaseException.__dict__["args"].__get__
_forget_trace = BaseException.with_traceback
_context_of = BaseException.__dict__["__context__"].__get__
_cause_of = BaseException.__dict__["__cause__"].__get__
_exit, _get_ident, _Thread = os._exit, threading.get_ident, threading.Thread


class Lane:
    """One thread of the container that answers questions; lane 0 is the main thread."""

    def __init__(self, driver: Driver, number: int) -> None:
        self.inbox: SimpleQueue[Message] = SimpleQueue()
        self._driver = driver
        self._number = number
        self._thread: int | None = None
        self._asked = 0
        self._upcalls = 0

    def serve(self) -> None:
        """Answer questions for ever."""
        self._thread = _get_ident()
        while True:
            message = self.inbox.get()
            if "op" in message:
                self._answer(message)

    def _answer(self, message: Message) -> None:
        self._asked += 1
        try:
            reply = self._reply(message)
        except WireError as error:
            reply = {"kind": "refused", "reason": str(error)}
        except BaseException as error:
            reply = self._driver.report(error)
        finally:
            self._asked -= 1
        reply["id"] = message["id"]
        self._send(reply)

    def _reply(self, message: Message) -> Message:
        args = [self.value(tree) for tree in message["args"]]
        kwargs = {name: self.value(tree) for name, tree in message["kwargs"].items()}
        found = self._driver.operations[message["op"]](*args, **kwargs)
        del args, kwargs
        return {"kind": "answer", "value": encode(found, self._driver.objects.reference)}

    def _send(self, reply: Message) -> None:
        reply["lane"] = self._number
        try:
            self._driver.channel.send(reply)
        except WireError as error:
            self._driver.channel.send(
                {"kind": "refused", "reason": str(error), "id": reply.get("id"), "lane": self._number}
            )

    def value(self, tree: Any) -> Any:
        """Decode what the host sent; its references are objects, callbacks or iterators."""
        return decode(tree, self._special)

    def _special(self, tag: str, body: list[Any]) -> Any:
        if tag == "h":
            return self._driver.objects[body[0]]
        if tag == "c":
            return self._driver.callback(body[0])
        if tag == "e":
            return self._driver.errors[body[0]](*self.value(body[1]))
        assert tag == "it"
        return HostIterator(self._driver, body[0])

    def upcall(self, to: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Message:
        """Ask the host on behalf of candidate code; questions that come before the reply are answered first."""
        if _get_ident() != self._thread or not self._asked:
            raise RuntimeError("this object may be used only by the thread that was asked, while it is asked")
        self._upcalls += 1
        number = self._upcalls
        reference = self._driver.objects.reference
        try:
            trees = encode_many([*args, *kwargs.values()], reference)
            self._driver.channel.send(
                {
                    "kind": "upcall", "lane": self._number, "to": to, "n": number,
                    "args": trees[: len(args)], "kwargs": dict(zip(map(str, kwargs), trees[len(args) :], strict=True)),
                }
            )  # fmt: skip
        except WireError as error:
            raise ValueError(f"arguments cannot travel to the host: {error}") from None
        while True:
            message = self.inbox.get()
            if "op" in message:
                self._answer(message)
            elif message["n"] == number:
                return message


class HostIterator:
    """An iterator whose items the host hands out, a batch at a time."""

    def __init__(self, driver: Driver, number: int) -> None:
        self._driver = driver
        self._number = number
        self._items: list[Any] = []
        self._end: Message | None = None

    def __iter__(self) -> HostIterator:
        return self

    def __next__(self) -> Any:
        if not self._items and self._end is None:
            lane = self._driver.current_lane()
            message = lane.upcall(self._number, (), {})
            self._items = [lane.value(tree) for tree in message["items"]][::-1]
            self._end = message if message["end"] else None
        if self._items:
            return self._items.pop()
        end, self._end = self._end, {"end": "stop"}
        if end is not None and end["end"] == "raise":
            raise self._driver.error(end)
        raise StopIteration


class Driver:
    """Lanes, objects, and the operations the host may ask for."""

    def __init__(self, work: str, scratch: str) -> None:
        self.channel = Channel()
        self.objects = Objects()
        self.errors = known_errors()
        self.operations: dict[str, Callable[..., Any]] = {
            **OPERATIONS,
            "tree": self._place,
            "protect": self._protect,
            "ready": self._ready,
        }
        self._names = {id(kind): name for name, kind in self.errors.items()}
        self._callbacks: dict[int, Any] = {}
        self._work = work
        self._scratch = scratch
        self._lanes: dict[int, Lane] = {0: Lane(self, 0)}
        self._lane_of_thread: dict[int, Lane] = {_get_ident(): self._lanes[0]}

    def serve(self) -> None:
        """Greet the host, then answer it until it hangs up."""
        self.channel.send({"kind": "hello", "python": sys.version.split()[0]})
        _Thread(target=self._dispatch, daemon=True).start()
        self._lanes[0].serve()

    def _dispatch(self) -> None:
        try:
            while (message := self.channel.receive()) is not None:
                number = message["lane"]
                if number not in self._lanes:
                    self._lanes[number] = Lane(self, number)
                    _Thread(target=self._serve_lane, args=(self._lanes[number],), daemon=True).start()
                self._lanes[number].inbox.put(message)
        finally:
            _exit(0)

    def _serve_lane(self, lane: Lane) -> None:
        self._lane_of_thread[_get_ident()] = lane
        lane.serve()

    def current_lane(self) -> Lane:
        lane = self._lane_of_thread.get(_get_ident())
        if lane is None:
            raise RuntimeError("this object may be used only by the thread that was asked")
        return lane

    def callback(self, number: int) -> Any:
        """The function that stands for one of the host's, always the same one."""
        if number not in self._callbacks:

            def callback(*args: Any, **kwargs: Any) -> Any:
                lane = self.current_lane()
                message = lane.upcall(number, args, kwargs)
                if "error" in message:
                    raise self.error(message)
                return lane.value(message["value"])

            self._callbacks[number] = callback
        return self._callbacks[number]

    def error(self, message: Message) -> BaseException:
        """The exception a message names."""
        return self.errors[message["error"]](*self.current_lane().value(message["args"]))

    def report(self, error: BaseException) -> Message:
        """What an exception is, by the identity of known classes alone; tracebacks (and what they hold) are let go."""
        mro = _mro_of(type(error))
        known = [kind for kind in mro if id(kind) in self._names]
        nearest = [kind for kind in known if not any(other is not kind and kind in _mro_of(other) for other in known)]
        reply: Message = {
            "kind": "raise", "kinds": [self._names[id(kind)] for kind in nearest], "type": _name_of(type(error)),
            "text": _text(error), "error": self.objects.reference(error)[1],
        }  # fmt: skip
        try:
            reply["args"] = encode(_args_of(error), self.objects.reference)
        except WireError:
            reply["args"] = None
        _let_go(error)
        return reply

    def _place(self, pieces: list[tuple[str, bytes, bool]]) -> None:
        """Append to the files of the tree: (path, bytes, executable)."""
        for path, data, executable in pieces:
            target = f"{self._work}/{path}"
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with io.open(target, "ab") as file:  # noqa: UP020
                file.write(data)
            os.chmod(target, 0o755 if executable else 0o644)

    def _protect(self, name: str, path: str) -> list[str]:
        """Load a protected module before any candidate code, and learn the exception classes it defines."""
        spec = importlib.util.spec_from_file_location(name, f"{self._work}/{path}")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        del sys.modules[name]
        sys.meta_path.insert(0, _Protected(module))
        found = []
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, BaseException) and value.__module__ == name:
                label = f"{name}:{value.__qualname__}"
                self.errors[label] = value
                self._names[id(value)] = label
                found.append(label)
        return found

    def _ready(self) -> None:
        """The tree is complete: candidate code may be imported from now on."""
        sys.path.append(self._work)
        importlib.invalidate_caches()


class _Protected(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the ordinary import of a protected module the one that was loaded before the candidate."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self._module.__name__:
            return None
        return importlib.machinery.ModuleSpec(name, self, origin=self._module.__file__)

    def create_module(self, spec: Any) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to do: it ran already."""


def _text(error: BaseException) -> str | None:
    try:
        text = str(error)
    except BaseException:
        return None
    return text[:10_000] if type(text) is str else None


def _let_go(error: BaseException) -> None:
    waiting: list[Any] = [error]
    seen: set[int] = set()
    while waiting and len(seen) < 100:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            _forget_trace(one, None)
            waiting += [_context_of(one), _cause_of(one)]


def main(arguments: list[str]) -> None:
    """``WORK SCRATCH [BYTES]``: the two folders; a limit on the process's data where no container sets one."""
    work, scratch, *limit = arguments
    if limit:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (int(limit[0]), int(limit[0])))
    os.chdir(scratch)
    sys.argv = [""]
    Driver(work, scratch).serve()
