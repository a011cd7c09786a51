"""The typed encoding survives a round trip and nothing else gets through."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentgrade.grading import wire

atoms = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary() | st.dates()
    | st.datetimes() | st.decimals(allow_nan=False) | st.integers(2**60, 2**20000)
)  # fmt: skip
hashable = st.none() | st.integers() | st.text() | st.binary() | st.tuples(st.integers(), st.text())
values = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(hashable, inner, max_size=4)
        | st.sets(hashable, max_size=4) | st.frozensets(hashable, max_size=4)
    ),
    max_leaves=12,
)  # fmt: skip


def no_reference(value: Any) -> list[Any]:
    raise AssertionError(f"{value!r} is plain")


def refuse(tag: str, _body: list[Any]) -> Any:
    raise wire.WireError(f"no reference: {tag}")


def there_and_back(value: Any) -> Any:
    message = wire.unpack(wire.pack({"value": wire.encode(value, no_reference)})[wire.HEADER :])
    return wire.decode(message["value"], refuse)


@settings(max_examples=150, deadline=None)
@given(values)
def test_values_come_back_with_their_types(value: Any) -> None:
    back = there_and_back(value)
    assert back == value
    assert type(back) is type(value)
    assert wire.encode(back, no_reference) == wire.encode(value, no_reference) or isinstance(
        value, set | frozenset | dict | list | tuple
    )


def test_special_numbers_and_times_come_back() -> None:
    assert str(there_and_back(float("nan"))) == "nan"
    assert str(there_and_back(-0.0)) == "-0.0"
    assert str(there_and_back(Decimal("-0.00"))) == "-0.00"
    assert str(there_and_back(Decimal("sNaN12"))) == "sNaN12"
    moment = datetime(2024, 2, 29, 23, 59, 59, 123456, tzinfo=timezone(timedelta(hours=-3)))
    assert there_and_back(moment).isoformat() == moment.isoformat()
    assert there_and_back("\ud800 \0 é") == "\ud800 \0 é"


def test_decimal_of_millions_of_digits_does_not_travel() -> None:
    longest = "-9." + "8" * (wire.MAX_DIGITS - 1) + "E+999999"
    assert there_and_back(Decimal(longest)) == Decimal(longest)
    with pytest.raises(wire.WireError, match="100,000 digits"):
        wire.encode([Decimal("9" * (wire.MAX_DIGITS + 1))], no_reference)
    with pytest.raises(wire.WireError, match="100,000 digits"):
        wire.decode(["d", "9" * (wire.MAX_DIGITS + 41)], no_reference)


class Colour(IntEnum):
    RED = 1


class Pair(NamedTuple):
    a: int
    b: int


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize("value", [Colour.RED, Pair(1, 2), Text("a"), object(), range(3), bytearray(b"a"), 1j, int])
def test_everything_but_exact_types_is_a_reference(value: Any) -> None:
    seen: list[Any] = []

    def reference(one: Any) -> list[Any]:
        seen.append(one)
        return ["h", 0]

    assert wire.encode([value], reference) == ["l", [["h", 0]]]
    assert seen == [value]


def test_caps_hold_when_writing_and_when_reading() -> None:
    deep: Any = []
    for _ in range(wire.MAX_DEPTH + 1):
        deep = [deep]
    with pytest.raises(wire.WireError, match="deeper than 8"):
        wire.encode(deep, no_reference)
    with pytest.raises(wire.WireError, match=r"more than 60,000 parts"):
        wire.encode([None] * wire.MAX_NODES, no_reference)
    with pytest.raises(wire.WireError, match=r"4,000,000 bytes"):
        wire.encode("x" * (wire.MAX_FRAME + 1), no_reference)
    tree: Any = ["l", []]
    for _ in range(wire.MAX_DEPTH + 1):
        tree = ["l", [tree]]
    with pytest.raises(wire.WireError, match="deeper than 8"):
        wire.decode(tree, refuse)
    with pytest.raises(wire.WireError, match=r"more than 60,000 parts"):
        wire.decode(["l", [None] * wire.MAX_NODES], refuse)


@pytest.mark.parametrize(
    "tree",
    [
        1, 1.5, {}, {"a": 1}, [], ["i"], ["i", 5], ["i", "5", "6"], ["i", "zz"], ["f", "x"], ["b", "?"], ["b", "é"],
        ["d", "one"], ["D", "2020-13-01"], ["T", "now"], ["l", "ab"], ["l", [5]], ["m", [["a"]]], ["m", ["ab"]],
        ["m", [["a", None], ["a", None]]], ["m", [[["l", []], None]]], ["s", [None, None]], ["s", [["m", []]]],
        ["?", []], [["i"], "1"], ["h", 1], ["f", "0x1p99999"],
    ],
)  # fmt: skip
def test_malformed_value_is_refused(tree: Any) -> None:
    with pytest.raises(wire.WireError):
        wire.decode(tree, refuse)


@pytest.mark.parametrize(
    "tree",
    [
        ["l", [["D", "2001-01-01"]] * 30_000 + ["x" * 3_300_000]],
        ["l", [["d", "1" * 55]] * 59_000],
        ["d", "1" * (wire.MAX_DIGITS + 20)],
    ],
)
def test_what_can_be_read_can_be_written(tree: Any) -> None:
    """Else a candidate, which writes what it likes, would make a check break where it compares an answer."""
    assert len(json.dumps(tree, separators=(",", ":"))) < wire.MAX_FRAME
    with pytest.raises(wire.WireError, match="of more than"):
        wire.decode(tree, lambda *_: None)


def test_colliding_keys_are_refused_before_they_cost_time() -> None:
    prime = 2**61 - 1
    keys = [["i", hex(number * prime)] for number in range(1, 5_000)]
    for tree in (["s", keys], ["z", keys], ["m", [[key, None] for key in keys]]):
        with pytest.raises(wire.WireError, match="collide"):
            wire.decode(tree, refuse)


@pytest.mark.parametrize(
    "text",
    [b"", b"nope", b"[]", b"1", b'{"a":1.5}', b'{"a":NaN}', b'{"a":"\xff"}', b"[" * 100_000, b'{"a":' + b"9" * 5000],
)
def test_malformed_frame_is_refused(text: bytes) -> None:
    with pytest.raises(wire.WireError):
        wire.unpack(text)


def test_frame_length_is_capped() -> None:
    assert wire.frame_length((5).to_bytes(4, "big")) == 5
    with pytest.raises(wire.WireError, match="no message"):
        wire.frame_length(b"10 p")
    with pytest.raises(wire.WireError, match="over the limit"):
        wire.pack({"a": "x" * (wire.MAX_FRAME + 1)})


def test_frame_is_ascii_json_behind_its_length() -> None:
    frame = wire.pack({"a": "é"})
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert json.loads(frame[4:].decode("ascii")) == {"a": "é"}


def test_dates_are_not_datetimes() -> None:
    assert type(there_and_back(date(2020, 1, 1))) is date
    assert type(there_and_back(datetime(2020, 1, 1))) is datetime
