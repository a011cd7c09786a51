"""The hidden checks of a task: ordinary test functions, loaded without pytest."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.errors import TaskAuthorError
from pytest_agentgrade.grading.solutions import UNTOUCHED, wrong_names

COUNTED = 10
"""Checks of a task that make its score; `@beyond` ones come on top."""


@dataclass(frozen=True)
class Check:
    """One hidden check."""

    task: str
    name: str
    function: Callable[..., None]
    kills: tuple[str, ...]
    """Solutions that must fail it, or its inputs are drawn again."""
    beyond: bool
    """Whether it is reported apart and never counted."""


def load_checks(task: Task) -> tuple[Check, ...]:
    """A task's checks in source order. Raises TaskAuthorError unless exactly ten of them count."""
    module = _load(task)
    functions = [
        value
        for name, value in vars(module).items()
        if name.startswith("test_") and inspect.isfunction(value) and value.__module__ == module.__name__
    ]
    checks = tuple(_check(task, one) for one in sorted(functions, key=lambda one: one.__code__.co_firstlineno))
    counted = sum(not check.beyond for check in checks)
    if counted != COUNTED:
        raise TaskAuthorError(f"{task.check_file}: {counted} checks count", f"write {COUNTED}, mark others @beyond")
    return checks


def _check(task: Task, function: Callable[..., None]) -> Check:
    kills: tuple[str, ...] = getattr(function, "agentgrade_kills", ())
    beyond = bool(getattr(function, "agentgrade_beyond", False))
    name = function.__name__
    if list(inspect.signature(function).parameters) != ["candidate"]:
        raise TaskAuthorError(f"{task.check_file}: {name} must take one argument, `candidate`")
    if not kills and not beyond:
        raise TaskAuthorError(f"{task.check_file}: {name} kills no solution", "name some in @kills(...)")
    for unknown in set(kills) - {UNTOUCHED, *wrong_names(task)}:
        raise TaskAuthorError(f"{task.check_file}: {name} kills {unknown!r}", f"there is no wrong/{unknown}.diff")
    return Check(task.name, name, function, kills, beyond)


def _load(task: Task) -> ModuleType:
    name = f"agentgrade_hidden_checks_{task.name}"
    spec = importlib.util.spec_from_file_location(name, task.check_file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise TaskAuthorError(f"cannot import {task.check_file}: {type(error).__name__}: {error}") from error
    finally:
        del sys.modules[name]
    return module
