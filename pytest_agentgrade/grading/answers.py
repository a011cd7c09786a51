"""What comes back from a candidate, and how it may be used: plain values (Answer) and objects that stay (Handle)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NoReturn, TypeVar

from pytest_agentgrade.errors import CandidateFailed, TaskAuthorError
from pytest_agentgrade.escaping import escape
from pytest_agentgrade.grading import wire

_T = TypeVar("_T")
_SHOWN = 300


class _Refusing:
    """Everything Python would do with a value behind the author's back."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        _refuse("its truth", "write `assert answer == True`, or answer.expect(bool)")

    def _order(self, _other: object) -> NoReturn:
        _refuse("an ordering", "order the plain value: answer.expect(int) < 3")

    __lt__ = __le__ = __gt__ = __ge__ = _order

    def _reach(self, *_args: object) -> NoReturn:
        _refuse("its elements", "use answer.expect(list), or candidate.contains, .len, .getitem, .iter")

    __contains__ = __iter__ = __len__ = __getitem__ = __reversed__ = _reach

    def _calculate(self, *_args: object) -> NoReturn:
        _refuse("a calculation", "calculate with the plain value: answer.expect(int) + 1")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _calculate
    __floordiv__ = __mod__ = __rmod__ = __pow__ = __and__ = __or__ = __xor__ = __neg__ = __abs__ = _calculate
    __int__ = __float__ = __index__ = _calculate

    def __str__(self) -> str:
        _refuse("its text", "use answer.expect(str)")

    def __format__(self, spec: str) -> str:
        _refuse("its text", "use answer.expect(str)")


def _refuse(what: str, remedy: str) -> NoReturn:
    raise TaskAuthorError(f"a check asked a candidate's answer for {what}", remedy)


class Answer(_Refusing):
    """A plain value the candidate gave; compared strictly, by type and value all the way down."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def expect(self, kind: type[_T]) -> _T:
        """The plain value, if it is of exactly this type; else the check has failed."""
        if type(self._value) is kind:
            return self._value
        raise CandidateFailed(f"expected {_type_name(kind)}, got {self!r}")

    def __eq__(self, other: object) -> bool:
        return same_value(self._value, plain(other))

    def __hash__(self) -> int:
        _refuse("its hash", "use answer.expect(str)")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise CandidateFailed(f"expected an object with {name!r}, got the plain value {self!r}")

    def __repr__(self) -> str:
        return render(self._value)


class _Method(_Refusing):
    """A method of a Handle, to be called: it has no truth itself. pytest shows it where it explains an assertion."""

    __slots__ = ("_handle", "_name")

    def __init__(self, handle: Handle, name: str) -> None:
        self._handle = handle
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._handle._ask("method", (self._handle, self._name, *args), kwargs)

    def __repr__(self) -> str:
        return self._name


class Handle(_Refusing):
    """An object that lives in the container. ``handle.name(...)`` calls its method there."""

    __slots__ = ("_ask", "_lane", "_number", "_origin")

    def __init__(self, ask: Callable[..., Any], number: int, lane: int | None = None, origin: str = "") -> None:
        self._ask = ask
        self._number = number
        self._origin = origin
        """What the check asked for when it got it, for people: ``package:Class()``."""
        self._lane = lane
        """The lane it belongs to (a connection and what comes from it), None for any."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        return _Method(self, name)

    def expect(self, kind: type[_T]) -> _T:
        """An object is never a plain value: the check has failed."""
        raise CandidateFailed(f"expected {_type_name(kind)}, got {self!r}")

    def __eq__(self, other: object) -> bool:
        """Equal to nothing but itself; what its class says about equality is not asked."""
        return isinstance(other, Handle) and other._number == self._number and other._ask == self._ask

    def __hash__(self) -> int:
        return hash(self._number)

    def __repr__(self) -> str:
        return f"<object {self._number} of the candidate{f', from {self._origin}' if self._origin else ''}>"


def number_of(handle: Handle) -> int:
    """The number under which the container knows the object."""
    return handle._number


def lane_of(handle: Handle) -> int | None:
    """The lane an object belongs to, None for any."""
    return handle._lane


def plain(value: object) -> object:
    """An Answer's own value; anything else as it is."""
    return value._value if isinstance(value, Answer) else value


def answer_for(value: object) -> Answer | Handle:
    """What a check is given for a decoded value."""
    return value if isinstance(value, Handle) else Answer(value)


def same_value(left: object, right: object) -> bool:
    """Equal in type and value, also inside containers. Dict order does not matter, Decimals compare as numbers."""
    return _canonical(left) == _canonical(right)


def _canonical(value: object) -> str:
    try:
        return json.dumps(_normal(wire.encode(value, _reference)))
    except wire.WireError as error:
        raise TaskAuthorError(f"a check compares an answer with {error}") from error


def _reference(value: object) -> list[Any]:
    if isinstance(value, Handle):
        return ["h", value._number]
    if isinstance(value, Answer):
        return ["a", _canonical(value._value)]
    raise TaskAuthorError(
        f"a check compares an answer with {escape(repr(type(value)))}",
        "compare with plain values: None, bool, int, float, str, bytes, Decimal, date, list, tuple, dict, set",
    )


def _normal(tree: Any) -> Any:
    if type(tree) is not list:
        return tree
    tag, body = tree
    if tag == "d":
        return [tag, _normal_decimal(Decimal(body))]
    if tag in ("l", "t"):
        return [tag, [_normal(item) for item in body]]
    # Sorted by their texts, and kept as they are: texts within texts double their backslashes at every level.
    if tag in ("s", "z"):
        return [tag, sorted((_normal(item) for item in body), key=json.dumps)]
    if tag == "m":
        return [tag, sorted(([_normal(key), _normal(item)] for key, item in body), key=json.dumps)]
    return json.loads(body) if tag == "a" else tree


def _normal_decimal(value: Decimal) -> str:
    if not value.is_finite():
        return str(value)
    if not value:
        return "0"
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    kept = text.rstrip("0")
    return f"{'-' * sign}{kept}E{int(exponent) + len(text) - len(kept)}"


def render(value: object, limit: int = _SHOWN) -> str:
    """A value for people: escaped, cut at about ``limit`` characters, without ever asking the container."""
    out: list[str] = []
    left = limit
    for piece in _pieces(value):
        out.append(escape(piece, limit))
        left -= len(piece)
        if left < 0:
            out.append("...")
            break
    return "".join(out)


def _pieces(value: object) -> Iterator[str]:
    if isinstance(value, str | bytes) and len(value) > _SHOWN:
        yield f"{value[:_SHOWN]!r}... [{len(value):,} in all]"
    elif type(value) is int and value.bit_length() > 4_000:
        yield f"<int of {value.bit_length():,} bits>"
    elif type(value) is dict:
        yield "{"
        for key, item in value.items():
            yield from _pieces(key)
            yield ": "
            yield from _pieces(item)
            yield ", "
        yield "}"
    elif isinstance(value, list | tuple | set | frozenset):
        opening, closing = {list: "[]", tuple: "()", set: ("set(", ")")}.get(type(value), ("frozenset(", ")"))
        yield opening
        for item in value:
            yield from _pieces(item)
            yield ", "
        yield closing
    else:
        yield repr(value)


def _type_name(kind: type) -> str:
    return kind.__name__
