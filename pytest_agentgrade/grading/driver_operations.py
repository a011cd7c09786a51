"""What the host may ask of the driver: calls, operators, sqlite3, files. Part of the program in the container.

Standard library only; all of it is looked up before the candidate's tree arrives.
"""
# os and io are there already; pathlib is Python code that a candidate may have changed:
# ruff: noqa: PTH103, PTH118, PTH120

from __future__ import annotations

import importlib
import io
import os
import sqlite3
from collections.abc import Callable
from typing import Any

from pytest_agentgrade.grading.wire import MAX_FRAME, WireError

_cursor = sqlite3.Connection.cursor


def _find(path: str) -> Any:
    module, _, attributes = path.partition(":")
    found: Any = importlib.import_module(module)
    for name in attributes.split(".") if attributes else ():
        found = getattr(found, name)
    return found


def _call(path: str, /, *args: Any, **kwargs: Any) -> Any:
    return _find(path)(*args, **kwargs)


def _method(target: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
    return getattr(target, name)(*args, **kwargs)


def _invoke(target: Any, /, *args: Any, **kwargs: Any) -> Any:
    return target(*args, **kwargs)


def _contains(target: Any, item: Any) -> bool:
    return item in target


def _getitem(target: Any, key: Any) -> Any:
    return target[key]


def _setitem(target: Any, key: Any, value: Any) -> None:
    target[key] = value


def _delitem(target: Any, key: Any) -> None:
    del target[key]


def _take(iterator: Any, count: int) -> list[Any]:
    taken: list[Any] = []
    while len(taken) < count:
        try:
            taken.append(next(iterator))
        except StopIteration:
            break
    return taken


def _enter(target: Any) -> Any:
    return type(target).__enter__(target)


def _leave(target: Any, error: BaseException | None = None) -> Any:
    return type(target).__exit__(target, type(error) if error is not None else None, error, None)


def _sql(connection: Any, statement: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
    """Rows of a statement, whatever row or text factory the candidate left on its connection."""
    if type(connection) is not sqlite3.Connection:
        raise TypeError("not the connection that was lent")
    factory, connection.text_factory = connection.text_factory, str
    try:
        cursor = _cursor(connection)
        cursor.row_factory = None
        try:
            return cursor.execute(statement, parameters).fetchall()
        finally:
            cursor.close()
    finally:
        connection.text_factory = factory


def _end() -> None:
    """The last question: no candidate code runs, the answer shows that the candidate is still in turn."""


def _scratch_write(path: str, data: bytes, append: bool) -> None:
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with io.open(path, "ab" if append else "wb") as file:  # noqa: UP020
        file.write(data)


def _scratch_read(path: str) -> bytes:
    with io.open(path, "rb") as file:  # noqa: UP020
        data = file.read(MAX_FRAME + 1)
    if len(data) > MAX_FRAME:
        raise WireError(f"the file is larger than {MAX_FRAME:,} bytes")
    return data


def _scratch_list(folder: str) -> list[str]:
    found = []
    for parent, _, files in os.walk(folder):
        found += [os.path.normpath(os.path.join(parent, name)) for name in files]
    return sorted(found)


def _scratch_utime(path: str, seconds: float) -> None:
    os.utime(path, (seconds, seconds))


OPERATIONS: dict[str, Callable[..., Any]] = {
    "method": _method, "invoke": _invoke, "attr": getattr, "setattr": setattr, "len": len, "contains": _contains,
    "getitem": _getitem, "setitem": _setitem, "delitem": _delitem, "iter": iter, "next": next, "take": _take,
    "list": list, "enter": _enter, "exit": _leave, "write": _scratch_write, "read": _scratch_read,
    "exists": os.path.lexists, "files": _scratch_list, "remove": os.remove, "utime": _scratch_utime,
    "call": _call, "find": _find, "connect": sqlite3.connect, "sql": _sql, "end": _end,
}  # fmt: skip
"""By the name that the host's message gives."""
