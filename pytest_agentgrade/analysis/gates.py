"""Gates for CI: ``mtp.success_rate < baseline.success_rate - 0.05``, parsed as data and never executed.

A gate is a yes-or-no question made of numbers, ``MODE.METRIC`` names, ``+ - * /``, comparisons, and/or/not and
parentheses. It trips when the answer is yes, and also when it has none: a figure that is not known is no reason to
let a change pass.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pytest_agentgrade.assignment.settings import suggest
from pytest_agentgrade.errors import AgentGradeError, Fault

Figures = Mapping[str, Mapping[str, float | None]]
"""Mode -> metric -> value; None where it is not known."""

_LONGEST = 1_000
_DEEPEST = 100
"""Signs, operators and parentheses within each other; each takes some frames of Python's stack."""
_WORD = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?![\w.])|\.\d+(?![\w.])|[A-Za-z0-9_.]+")
_NUMBER = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+")
_HOLDER = re.compile(r"\b_\d+\b")
_KEYWORDS = frozenset({"and", "or", "not"})
_ARITHMETIC: Mapping[type[ast.AST], Callable[[Any, Any], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
_COMPARISONS: Mapping[type[ast.AST], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_WORDS: Mapping[type[ast.AST], str] = {
    ast.Lt: "below", ast.LtE: "at most", ast.Gt: "above", ast.GtE: "at least",
    ast.Eq: "equal to", ast.NotEq: "different from",
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
    meaning: str = ""
    """The answer as a sentence, with the values found."""
    judged: bool = True
    """False: its modes may not be compared, whatever its figures are; ``undecided`` says which, and it has tripped."""
    note: str = ""
    """What has to be known beside the answer."""

    def line(self) -> str:
        """One line for people."""
        if not self.judged:
            return f"gate not judged: {self.undecided}: {self.text}"
        if self.undecided:
            return f"gate FAILED: undecided, since {self.undecided}: {self.text}"
        return f"gate {'FAILED' if self.tripped else 'passed'}: {self.meaning}{'; ' if self.note else ''}{self.note}"


@dataclass(frozen=True)
class Gate:
    """A parsed gate; ask it with :meth:`evaluate`."""

    text: str
    names: Mapping[str, str]
    """Place holder in the tree -> ``MODE.METRIC``, either of which may have dots of its own."""
    tree: ast.expr

    def modes(self, figures: Figures) -> tuple[str, ...]:
        """The modes that it names, each once; GateError as of :meth:`evaluate`."""
        return tuple(dict.fromkeys(_mode_of(self.text, figures, name) for name in self.names.values()))

    def evaluate(self, figures: Figures) -> GateResult:
        """Trip or not. GateError names an unknown mode or metric and suggests one."""
        values = {hold: _look_up(self.text, figures, name) for hold, name in self.names.items()}
        named = {self.names[hold]: value for hold, value in values.items()}
        try:
            tripped = bool(_value(self.tree, values, self.names))
            return GateResult(self.text, tripped, named, meaning=self._meaning(tripped, values))
        except _Unknown as unknown:
            return GateResult(self.text, True, named, str(unknown))

    def _meaning(self, holds: bool, values: Mapping[str, float | None]) -> str:
        match self.tree:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                one, other = self._told(left, values), self._told(right, values)
                return f"{one} is {'' if holds else 'not '}{_WORDS[type(op)]} {other}"
        known = {self.names[holder]: value for holder, value in values.items()}
        shown = ", ".join(f"{name} is {'not known' if v is None else f'{v:.4g}'}" for name, v in known.items())
        return f"it is {'' if holds else 'not '}so that {self.text}{': ' if shown else ''}{shown}"

    def _told(self, side: ast.expr, values: Mapping[str, float | None]) -> str:
        """One side of a comparison as it was written, and what it comes to."""
        written, names = _HOLDER.subn(lambda match: self.names[match[0]], ast.unparse(side))
        return f"{written} ({_value(side, values, self.names):.4g})" if names else written


def parse_gate(text: str) -> Gate:
    """Read a gate; GateError says what in it cannot stand there."""
    if len(text) > _LONGEST:
        raise GateError(f"a gate of {len(text)} characters is too long", f"keep it under {_LONGEST}")
    names: dict[str, str] = {}

    def hold(match: re.Match[str]) -> str:
        word = match[0]
        if word in _KEYWORDS or _NUMBER.fullmatch(word):
            return word
        if "." not in word.strip(".") or word != word.strip("."):
            raise _bad(text, f"{word!r} is no MODE.METRIC", "write for example mtp.success_rate")
        holder = f"_{len(names)}"
        names[holder] = word
        return holder

    held = _WORD.sub(hold, text)
    try:
        tree = ast.parse(held.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _bad(text, "it is no expression", "write for example mtp.success_rate < 0.5") from error
    _refuse_excess(text, tree)
    if _kind(text, tree) != "truth":
        raise _bad(text, "it is a number, not a question", "compare it: mtp.success_rate < 0.5")
    return Gate(text, names, tree)


def _refuse_excess(text: str, tree: ast.expr) -> None:
    """GateError for a number that no float holds, and for a tree too deep to walk."""
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise _bad(text, f"more than {_DEEPEST} operators stand within each other", "ask several shorter questions")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not _is_finite(node.value):
            raise _bad(text, "a number in it is too large", "write one below 1e308")


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the floats
        return False


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


def _value(node: ast.expr, values: Mapping[str, float | None], names: Mapping[str, str]) -> Any:
    def value(inner: ast.expr) -> Any:
        return _value(inner, values, names)

    match node:
        case ast.Constant(value=int() | float() as constant):
            return float(constant)
        case ast.Name(id=name):
            if (known := values[name]) is None:
                raise _Unknown(f"{names[name]} is not known")
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
        result = _ARITHMETIC[type(op)](left, right)
    except (ZeroDivisionError, OverflowError) as error:
        raise _Unknown(str(error)) from error
    if math.isnan(result):
        raise _Unknown(f"{left:g} and {right:g} come to no number")
    return result


def _mode_of(text: str, figures: Figures, name: str) -> str:
    modes = [mode for mode in figures if name.startswith(f"{mode}.")]
    if not modes:
        mode = _meant_mode(figures, name)
        raise _bad(text, f"there is no mode {mode!r}", suggest(mode, figures))
    return max(modes, key=len)


def _look_up(text: str, figures: Figures, name: str) -> float | None:
    mode = _mode_of(text, figures, name)
    metric = name[len(mode) + 1 :]
    if metric in figures[mode]:
        return figures[mode][metric]
    others = [other for other, known in figures.items() if metric in known]
    if others:
        raise _bad(text, f"{mode!r} has no {metric!r}", f"it belongs to a mode compared with it: {', '.join(others)}")
    raise _bad(text, f"there is no metric {metric!r}", nearest_metric(metric, figures[mode]))


def _meant_mode(figures: Figures, name: str) -> str:
    """What stands before a known metric, else before the first dot."""
    known = [metric for metrics in figures.values() for metric in metrics if name.endswith(f".{metric}")]
    return name[: -len(max(known, key=len)) - 1] if known else name.partition(".")[0]


def nearest_metric(metric: str, known: Iterable[str]) -> str:
    """All names are too many to list: what is near, else where they stand."""
    hint = suggest(metric, known)
    return hint if hint.startswith("did you mean") else "docs/comparing.md lists the metrics, --format json shows them"
