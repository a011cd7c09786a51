"""Frames and typed values: what both ends of a judge's pipe share.

Standard library only, no imports from this package: the text of this module is sent into the container as well.

A frame is four bytes of length (big endian) and that many bytes of ASCII JSON. Values are JSON ``null``, ``true``,
``false`` and strings, or a list headed by a tag: ``["i", hex]`` int, ``["f", hex]`` float, ``["b", base64]`` bytes,
``["d", text]`` Decimal, ``["D", iso]`` date, ``["T", iso]`` datetime, ``["l", items]`` list, ``["t", items]`` tuple,
``["s", items]`` set, ``["z", items]`` frozenset, ``["m", pairs]`` dict; any other tag is a reference whose meaning the
two ends give it. Only exact types travel as values: a subclass may lie about everything, so it is a reference.
"""

from __future__ import annotations

import binascii
import json
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal, InvalidOperation
from typing import Any

MAX_FRAME = 4_000_000
"""Bytes of JSON in one frame."""
MAX_DEPTH = 8
"""Containers within containers."""
MAX_NODES = 60_000
"""Values in one message, containers included."""
MAX_SAME_HASH = 64
"""Keys of one dict or set that may share a hash: a flood of collisions would cost the host minutes."""
MAX_DIGITS = 100_000
"""Of one Decimal: millions of them take the host hundreds of megabytes to compare."""
HEADER = 4

KNOWN_MODULES = (
    "builtins", "binascii", "copy", "csv", "decimal", "graphlib", "io", "json", "pickle", "queue", "re", "shutil",
    "sqlite3", "struct", "threading",
)  # fmt: skip
"""Standard modules whose exception classes have names both ends agree on."""

Message = dict[str, Any]
"""What a frame holds; see ``session.py`` and ``driver.py`` for the keys."""
Opaque = Callable[[Any], list[Any]]
"""Turns a value that does not travel into a tagged reference (or raises)."""
Special = Callable[[str, list[Any]], Any]
"""Turns a tagged reference (tag, rest) into a value (or raises WireError)."""

_dumps = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


class WireError(ValueError):
    """Bytes or values that break the rules above; the text says which rule."""


def pack(message: Message) -> bytes:
    """One frame."""
    text = _dumps(message).encode("ascii")
    if len(text) > MAX_FRAME:
        raise WireError(f"a message of {len(text):,} bytes is over the limit of {MAX_FRAME:,}")
    return len(text).to_bytes(HEADER, "big") + text


def frame_length(header: bytes) -> int:
    """Bytes that follow a header of four."""
    length = int.from_bytes(header, "big")
    if length > MAX_FRAME:
        raise WireError(f"bytes that are no message (starting {header!r})")
    return length


def unpack(text: bytes) -> Message:
    """The message in a frame, its values still encoded."""
    try:
        message = json.loads(text.decode("ascii"), parse_float=_no_number, parse_constant=_no_number)
    except RecursionError:
        raise WireError("a message that nests too deep") from None
    except ValueError as error:
        raise WireError(f"a message that is not JSON: {str(error)[:200]}") from None
    if type(message) is not dict:
        raise WireError("a message that is not an object")
    return message


def _no_number(_text: str) -> None:
    raise WireError("a message with a bare number in it")


class _Budget:
    """What is left of the caps while one message is built or read."""

    __slots__ = ("characters", "nodes")

    def __init__(self) -> None:
        self.nodes = MAX_NODES
        self.characters = MAX_FRAME

    def spend(self, depth: int, characters: int = 0) -> None:
        self.nodes -= 1
        if self.nodes < 0:
            raise WireError(f"a value of more than {MAX_NODES:,} parts")
        if depth > MAX_DEPTH:
            raise WireError(f"a value nested deeper than {MAX_DEPTH}")
        self.take(characters)

    def take(self, characters: int) -> None:
        self.characters -= characters
        if self.characters < 0:
            raise WireError(f"a value of more than {MAX_FRAME:,} bytes")


def encode(value: Any, opaque: Opaque) -> Any:
    """``value`` as JSON; what is not of an exact plain type goes through ``opaque``. Raises WireError over a cap."""
    return _encode(value, opaque, 0, _Budget())


def encode_many(values: list[Any], opaque: Opaque) -> list[Any]:
    """Several values that share one message's caps."""
    budget = _Budget()
    return [_encode(value, opaque, 0, budget) for value in values]


def _encode(value: Any, opaque: Opaque, depth: int, budget: _Budget) -> Any:
    kind = type(value)
    if kind is str:
        budget.spend(depth, len(value))
        return value
    if value is None or kind is bool:
        budget.spend(depth)
        return value
    if kind in _ATOMS:
        tag, write, size = _ATOMS[kind]
        budget.spend(depth, size(value))
        return [tag, write(value)] if kind is not datetime or _plain_zone(value) else opaque(value)
    if kind in _SERIES:
        budget.spend(depth)
        return [_SERIES[kind], [_encode(item, opaque, depth + 1, budget) for item in value]]
    if kind is dict:
        budget.spend(depth)
        inner = depth + 1
        return [
            "m",
            [[_encode(k, opaque, inner, budget), _encode(v, opaque, inner, budget)] for k, v in value.items()],
        ]
    budget.spend(depth)
    return opaque(value)


def decode(tree: Any, special: Special) -> Any:
    """The value of ``tree``. Raises WireError for anything :func:`encode` would not have made."""
    try:
        return _decode(tree, special, 0, _Budget())
    except WireError:
        raise
    except (ValueError, TypeError, OverflowError, InvalidOperation, binascii.Error) as error:
        raise WireError(f"a value that cannot be read: {str(error)[:200]}") from None


def _decode(tree: Any, special: Special, depth: int, budget: _Budget) -> Any:
    budget.spend(depth)
    if type(tree) is str:
        budget.take(len(tree))
        return tree
    if tree is None or type(tree) is bool:
        return tree
    if type(tree) is not list or len(tree) < 2 or type(tree[0]) is not str:
        raise WireError("a value without a type")
    tag, body = tree[0], tree[1]
    if tag in _READ_ATOM:
        if len(tree) != 2 or type(body) is not str:
            raise WireError(f"a value of type {tag!r} that is no text")
        return _read_atom(tag, body, budget)
    if tag not in _READ_SERIES:
        return special(tag, tree[1:])
    if len(tree) != 2 or type(body) is not list:
        raise WireError(f"a value of type {tag!r} that is no list")
    if tag == "m":
        return _read_dict(body, special, depth, budget)
    items = [_decode(item, special, depth + 1, budget) for item in body]
    if tag in ("s", "z"):
        _refuse_collisions(items)
    made = _READ_SERIES[tag](items)
    if len(made) != len(items):
        raise WireError("a set that holds an element twice")
    return made


def _read_atom(tag: str, body: str, budget: _Budget) -> Any:
    """Counted as :func:`encode` counts: what comes in can be compared, and sent again, without being over a cap."""
    value = _READ_ATOM[tag](body)
    _tag, _write, size = _ATOMS[type(value)]
    budget.take(size(value))
    return value


def _read_dict(body: list[Any], special: Special, depth: int, budget: _Budget) -> dict[Any, Any]:
    pairs: list[list[Any]] = []
    for pair in body:
        if type(pair) is not list or len(pair) != 2:
            raise WireError("a dict that is not made of pairs")
        pairs.append([_decode(part, special, depth + 1, budget) for part in pair])
    _refuse_collisions([key for key, _ in pairs])
    made = dict(pairs)
    if len(made) != len(pairs):
        raise WireError("a dict that holds a key twice")
    return made


def _refuse_collisions(keys: list[Any]) -> None:
    if len(keys) > MAX_SAME_HASH and Counter(map(hash, keys)).most_common(1)[0][1] > MAX_SAME_HASH:
        raise WireError("a dict or set whose keys collide")


def _plain_zone(value: datetime) -> bool:
    return value.tzinfo is None or type(value.tzinfo) is timezone


def _to_base64(value: bytes) -> str:
    return binascii.b2a_base64(value, newline=False).decode("ascii")


def _from_base64(text: str) -> bytes:
    return binascii.a2b_base64(text.encode("ascii"), strict_mode=True)


def _from_hex(text: str) -> int:
    return int(text, 16)


def _small(_value: Any) -> int:
    return 40


def _decimal_size(value: Decimal) -> int:
    digits = len(value.as_tuple().digits)
    if digits > MAX_DIGITS:
        raise WireError(f"a Decimal of more than {MAX_DIGITS:,} digits")
    return digits + 30


def _read_decimal(text: str) -> Decimal:
    if len(text) > MAX_DIGITS + 40:  # sign, point and exponent
        raise WireError(f"a Decimal of more than {MAX_DIGITS:,} digits")
    return Decimal(text)


_ATOMS: dict[type, tuple[str, Callable[[Any], str], Callable[[Any], int]]] = {
    int: ("i", hex, lambda value: int.bit_length(value) // 4),
    float: ("f", float.hex, _small),
    bytes: ("b", _to_base64, lambda value: len(value) * 4 // 3),
    Decimal: ("d", str, _decimal_size),
    date: ("D", date.isoformat, _small),
    datetime: ("T", datetime.isoformat, _small),
}
_SERIES: dict[type, str] = {list: "l", tuple: "t", set: "s", frozenset: "z"}
_READ_ATOM: dict[str, Callable[[str], Any]] = {
    "i": _from_hex,
    "f": float.fromhex,
    "b": _from_base64,
    "d": _read_decimal,
    "D": date.fromisoformat,
    "T": datetime.fromisoformat,
}
_READ_SERIES: dict[str, Callable[[list[Any]], Any]] = {"l": list, "t": tuple, "s": set, "z": frozenset, "m": dict}


def error_name(kind: type[BaseException]) -> str:
    """The name both ends use for a known exception class."""
    return f"{kind.__module__}:{kind.__qualname__}"


def known_errors() -> dict[str, type[BaseException]]:
    """Every exception class that the modules of KNOWN_MODULES show, by name."""
    import importlib

    known: dict[str, type[BaseException]] = {}
    for module in KNOWN_MODULES:
        for value in vars(importlib.import_module(module)).values():
            if isinstance(value, type) and issubclass(value, BaseException):
                known[error_name(value)] = value
    return known
