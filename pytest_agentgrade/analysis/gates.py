"""Gates for CI: ``mtp.success_rate < baseline.success_rate - 0.05``, parsed as data and never executed.

A gate is a yes-or-no question made of numbers, ``MODE.METRIC`` names, ``+ - * /``, comparisons, and/or/not and
parentheses. It trips when the answer is yes, and also when it has none: a figure that is not known is no reason to
let a change pass.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pytest_agentgrade.assignment.settings import suggest
from pytest_agentgrade.errors import AgentGradeError, Fault

Figures = Mapping[str, Mapping[str, float | None]]
"""Mode -> metric -> value; None where it is not known."""

_LONGEST = 1_000
_WORD = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?![\w.])|\.\d+(?![\w.])|[A-Za-z0-9_.]+")
_NUMBER = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+")
_KEYWORDS = frozenset({"and", "or", "not"})
_ARITHMETIC: Mapping[type[ast.AST], Callable[[Any, Any], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
_COMPARISONS: Mapping[type[ast.AST], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip


class GateError(AgentGradeError):
    """A gate that is no question about these figures."""

    fault = Fault.USER


class _Unknown(Exception):
    """``str()`` says which figure has no value."""


@dataclass(frozen=True)
class GateResult:
    """What became of a gate."""

    text: str
    tripped: bool
    values: Mapping[str, float | None]
    """The figures it names."""
    undecided: str = ""
    """Why it has no answer; then it counts as tripped."""

    def line(self) -> str:
        """One line for people."""
        shown = ", ".join(f"{name} = {'unknown' if v is None else f'{v:.4g}'}" for name, v in self.values.items())
        if self.undecided:
            return f"gate FAILED, undecided ({self.undecided}): {self.text} [{shown}]"
        return f"gate {'FAILED' if self.tripped else 'passed'}: {self.text} [{shown}]"


@dataclass(frozen=True)
class Gate:
    """A parsed gate; ask it with :meth:`evaluate`."""

    text: str
    names: Mapping[str, tuple[str, str]]
    """Place holder in the tree -> (mode, metric)."""
    tree: ast.expr

    def evaluate(self, figures: Figures) -> GateResult:
        """Trip or not. GateError names an unknown mode or metric and suggests one."""
        values = {hold: _look_up(self.text, figures, mode, metric) for hold, (mode, metric) in self.names.items()}
        named = {".".join(self.names[hold]): value for hold, value in values.items()}
        try:
            return GateResult(self.text, bool(_value(self.tree, values, self.names)), named)
        except _Unknown as unknown:
            return GateResult(self.text, True, named, str(unknown))


def parse_gate(text: str) -> Gate:
    """Read a gate; GateError says what in it cannot stand there."""
    if len(text) > _LONGEST:
        raise GateError(f"a gate of {len(text)} characters is too long", f"keep it under {_LONGEST}")
    names: dict[str, tuple[str, str]] = {}

    def hold(match: re.Match[str]) -> str:
        word = match[0]
        if word in _KEYWORDS or _NUMBER.fullmatch(word):
            return word
        mode, dot, metric = word.rpartition(".")
        if not (dot and mode and metric):
            raise _bad(text, f"{word!r} is no MODE.METRIC", "write for example mtp.success_rate")
        holder = f"_{len(names)}"
        names[holder] = (mode, metric)
        return holder

    held = _WORD.sub(hold, text)
    try:
        tree = ast.parse(held.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _bad(text, "it is no expression", "write for example mtp.success_rate < 0.5") from error
    if _kind(text, tree) != "truth":
        raise _bad(text, "it is a number, not a question", "compare it: mtp.success_rate < 0.5")
    return Gate(text, names, tree)


def _bad(text: str, what: str, hint: str) -> GateError:
    return GateError(f"--fail-if {text!r}: {what}", hint)


def _kind(text: str, node: ast.expr) -> str:
    """``number`` or ``truth``; GateError for a node that is not of this little language."""
    parts: list[ast.expr]
    match node:
        case ast.Constant(value=int() | float()) | ast.Name():
            return "number"
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner):
            parts, needed, result = [inner], "number", "number"
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), left=left, right=right):
            parts, needed, result = [left, right], "number", "number"
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARISONS for op in ops):
            parts, needed, result = [left, *others], "number", "truth"
        case ast.BoolOp(values=parts):
            needed, result = "truth", "truth"
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            parts, needed, result = [inner], "truth", "truth"
        case _:
            raise _bad(text, "only numbers, MODE.METRIC, + - * /, comparisons, and, or, not can stand here", "simplify")
    if any(_kind(text, part) != needed for part in parts):
        raise _bad(text, f"a {needed} is needed where something else stands", "use parentheses")
    return result


def _value(node: ast.expr, values: Mapping[str, float | None], names: Mapping[str, tuple[str, str]]) -> Any:
    def value(inner: ast.expr) -> Any:
        return _value(inner, values, names)

    match node:
        case ast.Constant(value=constant):
            return constant
        case ast.Name(id=name):
            if (known := values[name]) is None:
                raise _Unknown(f"{'.'.join(names[name])} is not known")
            return known
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return not value(inner)
        case ast.UnaryOp(op=op, operand=inner):
            return -value(inner) if isinstance(op, ast.USub) else value(inner)
        case ast.BoolOp(op=op, values=parts):
            return (all if isinstance(op, ast.And) else any)(value(part) for part in parts)
        case ast.BinOp(left=left, op=op, right=right):
            return _arithmetic(op, value(left), value(right))
        case ast.Compare(left=left, ops=ops, comparators=others):
            chain = [value(part) for part in (left, *others)]
            return all(_COMPARISONS[type(op)](*two) for op, two in zip(ops, pairwise(chain), strict=True))
    raise AssertionError(f"{ast.dump(node)} was let through")


def _arithmetic(op: ast.operator, left: float, right: float) -> float:
    try:
        return _ARITHMETIC[type(op)](left, right)
    except (ZeroDivisionError, OverflowError) as error:
        raise _Unknown(str(error)) from error


def _look_up(text: str, figures: Figures, mode: str, metric: str) -> float | None:
    if mode not in figures:
        raise _bad(text, f"there is no mode {mode!r}", suggest(mode, figures))
    if metric not in figures[mode]:
        raise _bad(text, f"there is no metric {metric!r}", suggest(metric, figures[mode]))
    return figures[mode][metric]
