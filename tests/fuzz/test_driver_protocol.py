"""Bytes and values that a driver may send: a failure of the candidate's, and nothing else."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any, NoReturn

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentgrade.errors import CandidateFailed, HostError
from pytest_agentgrade.grading import wire
from pytest_agentgrade.grading.answers import Answer, render, same_value
from pytest_agentgrade.grading.session import Limits, Session, Turn
from tests.grading.test_session import Script

TAGS = ["i", "f", "b", "d", "D", "T", "l", "t", "s", "z", "m", "h", "c", "e", "it", "x", ""]
TEXTS = st.one_of(
    st.text(max_size=12), st.sampled_from(["0x1", "-0x0", "nan", "0x1.8p+1", "AAAA", "1E+5", "sNaN", "2026-01-01"])
)
TREES = st.recursive(
    st.one_of(st.none(), st.booleans(), TEXTS, st.integers(), st.tuples(st.sampled_from(TAGS), TEXTS).map(list)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.tuples(st.sampled_from(TAGS), st.lists(inner, max_size=5)).map(list),
        st.tuples(st.sampled_from(["m"]), st.lists(st.lists(inner, max_size=3), max_size=4)).map(list),
        st.dictionaries(st.text(max_size=4), inner, max_size=3),
    ),
    max_leaves=30,
)
ATOMS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9), st.binary(max_size=9), st.dates(),
    st.datetimes(), st.datetimes(timezones=st.just(UTC)), st.decimals(),
)  # fmt: skip
KEYS = st.one_of(st.none(), st.integers(), st.text(max_size=5), st.binary(max_size=5), st.dates())
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.lists(inner, max_size=5).map(tuple), st.dictionaries(KEYS, inner, max_size=5),
        st.sets(KEYS, max_size=5), st.frozensets(KEYS, max_size=5),
    ),
    max_leaves=20,
)  # fmt: skip


def refuse(*_args: object) -> NoReturn:
    raise wire.WireError("a reference")


@given(TREES)
def test_any_tree_is_a_value_or_refused(tree: Any) -> None:
    with suppress(wire.WireError):
        value = wire.decode(json.loads(json.dumps(tree)), refuse)
        again = wire.decode(wire.encode(value, refuse), refuse)
        assert same_value(value, again)
        assert render(value).isprintable() and repr(Answer(value)) == render(value)


@given(VALUES)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    try:
        tree = wire.encode(value, refuse)
    except wire.WireError:
        return
    message = wire.unpack(wire.pack({"value": tree})[wire.HEADER :])
    assert same_value(wire.decode(message["value"], refuse), value)


@given(VALUES, VALUES)
def test_equal_values_are_of_one_type(left: Any, right: Any) -> None:
    if same_value(left, right):
        assert type(left) is type(right)
    if isinstance(left, bool | int | str | bytes | date) and not isinstance(left, datetime):
        assert same_value(left, right) == (type(left) is type(right) and left == right)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused(data: bytes) -> None:
    with suppress(wire.WireError):
        assert wire.frame_length(data[:4].ljust(4, b"\0")) <= wire.MAX_FRAME
    with suppress(wire.WireError):
        assert isinstance(wire.unpack(data), dict)


MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.one_of(st.sampled_from(["answer", "raise", "upcall", "refused", "hello"]), TREES),
        "lane": st.one_of(st.just(0), TREES), "id": TREES, "n": TREES, "to": TREES, "args": TREES, "kwargs": TREES,
        "value": TREES, "kinds": TREES, "text": TREES, "type": TREES, "reason": TREES, "error": TREES,
    },
)  # fmt: skip
PIECES = st.lists(
    st.one_of(st.binary(max_size=40), MESSAGES.map(lambda m: wire.pack(json.loads(json.dumps(m))))), max_size=6
)


@given(PIECES)
def test_any_stream_fails_the_candidate_or_answers(pieces: list[bytes]) -> None:
    script = Script(pieces)

    def host_call(turn: Turn, _message: dict[str, Any]) -> None:
        one.reply_upcall(turn, {"value": None})

    one = Session(script, Limits(question=5, check=9), host_call, clock=lambda: script.now)
    with suppress(CandidateFailed):
        one.wait(one.post(0, "len", [], {}))
        one.expect_silence()


@given(PIECES)
def test_before_the_greeting_any_stream_is_the_hosts_trouble(pieces: list[bytes]) -> None:
    script = Script()
    for piece in pieces:
        script.say(piece)
    one = Session(script, Limits(), lambda *_: None, clock=lambda: script.now)
    with suppress(HostError):
        one.greet()
