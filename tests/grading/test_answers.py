"""Answers are equal to what they are, and to nothing else."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from pytest_agentgrade.errors import CandidateFailed, TaskAuthorError
from pytest_agentgrade.grading.answers import Answer, Handle, same_value

EQUAL: list[tuple[Any, Any]] = [
    (None, None),
    (True, True),
    (1, 1),
    (1.5, 1.5),
    (math.nan, math.nan),
    ("a", "a"),
    (b"a", b"a"),
    (Decimal("1.50"), Decimal("1.5")),
    (Decimal("-0"), Decimal("0.00")),
    (Decimal("1E+3"), Decimal("1000")),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({1, 2, 3}, {3, 2, 1}),
    ([1, (2,), {"k": {3}}], [1, (2,), {"k": {3}}]),
    (10**6000, 10**6000),
    (date(2020, 1, 1), date(2020, 1, 1)),
    (Decimal("NaN"), Decimal("NaN")),
]
DIFFERENT: list[tuple[Any, Any]] = [
    (True, 1),
    (1, True),
    (0, False),
    (1.0, 1),
    (1, 1.0),
    (0.0, -0.0),
    (None, False),
    (None, 0),
    ("", None),
    ("a", b"a"),
    (Decimal(1), 1),
    (Decimal("1.5"), 1.5),
    ([1], (1,)),
    ([True], [1]),
    ({1: "a"}, {True: "a"}),
    ({1}, {1.0}),
    ({1}, frozenset({1})),
    ({"a": 1}, {"a": 1.0}),
    (date(2020, 1, 1), datetime(2020, 1, 1)),
    ([1, 2], [2, 1]),
    (Decimal("1"), Decimal("10")),
    (Decimal("0.1"), Decimal("0.10000000000000000000000000001")),
    ((), []),
    ({}, set()),
    ("1", 1),
    ([None], []),
    (10**6000, 10**6000 + 1),
]


@pytest.mark.parametrize(("value", "other"), EQUAL, ids=range(len(EQUAL)))
def test_equal(value: Any, other: Any) -> None:
    assert (Answer(value) == other) is True
    assert (Answer(value) != other) is False
    assert (other == Answer(value)) is True
    assert Answer(value) == Answer(other)


@pytest.mark.parametrize(("value", "other"), DIFFERENT, ids=range(len(DIFFERENT)))
def test_different(value: Any, other: Any) -> None:
    assert (Answer(value) == other) is False
    assert (other == Answer(value)) is False
    assert (Answer(value) != other) is True


def test_answers_within_containers_of_the_check() -> None:
    assert [Answer(1), Answer("a")] == [1, "a"]
    assert Answer([1, "a"]) == [Answer(1), Answer("a")]
    assert (Answer([1]) == [Answer(True)]) is False


USES: list[Callable[[Any], Any]] = [
    bool,
    lambda a: not a,
    lambda a: a < 1,
    lambda a: a >= 1,
    lambda a: a > 1,
    lambda a: 1 in a,
    lambda a: a in {1: 2},
    iter,
    len,
    list,
    hash,
    int,
    float,
    str,
    lambda a: f"{a}",
    lambda a: a + 1,
    lambda a: 1 + a,
    lambda a: a[0],
    lambda a: -a,
    lambda a: range(a),
    lambda a: a % 2,
    lambda a: sorted([a, a]),
    lambda a: a and 1,
    lambda a: {a},
]


@pytest.mark.parametrize("use", USES)
def test_any_other_use_is_the_authors_error(use: Callable[[Any], Any]) -> None:
    with pytest.raises(TaskAuthorError):
        use(Answer(1))


@pytest.mark.parametrize(
    "use", [bool, lambda h: h < h, lambda h: 1 in h, iter, len, str, lambda h: h + 1, lambda h: h[0]]
)
def test_handle_has_no_truth_order_or_elements_either(use: Callable[[Any], Any]) -> None:
    with pytest.raises(TaskAuthorError):
        use(handle())


def handle(number: int = 3, ask: Callable[..., Any] | None = None) -> Handle:
    return Handle(ask or nothing_is_asked, number)


def nothing_is_asked(*_args: Any) -> Any:
    raise AssertionError("the container was asked")


def test_handle_equals_only_itself() -> None:
    assert handle(3) == handle(3)
    assert handle(3) != handle(4)
    for plain in (3, "a", None, True, [handle(3)]):
        assert (handle(3) == plain) is False
    assert Answer([handle(3)]) == [handle(3)]
    assert (Answer([handle(3)]) == [handle(4)]) is False
    assert (Answer([handle(3)]) == [3]) is False


def test_handle_asks_for_methods_but_never_for_dunders() -> None:
    asked: list[Any] = []

    def ask(*question: Any) -> str:
        asked.append(question)
        return "answer"

    one = handle(5, ask)
    assert one.method("x", key=1) == "answer"
    assert asked == [("method", (one, "method", "x"), {"key": 1})]
    for name in ("__dataclass_fields__", "__attrs_attrs__", "__class_getitem__"):
        with pytest.raises(AttributeError):
            getattr(handle(), name)
    assert repr(handle()) == "<object 3 of the candidate>"
    assert repr(one.method) == "method", "pytest shows it where it explains an assertion"


def test_method_of_a_plain_value_is_the_candidates_failure() -> None:
    with pytest.raises(CandidateFailed, match=r"expected an object with 'set', got the plain value None"):
        Answer(None).set("a", 1)
    with pytest.raises(AttributeError):
        Answer(None).__fspath__()


def test_expect_gives_exact_types_only() -> None:
    assert Answer(5).expect(int) == 5
    assert Answer(None).expect(type(None)) is None
    for value, kind in ((True, int), (5, bool), (5, float), ("a", bytes), ((), list)):
        with pytest.raises(CandidateFailed, match=f"expected {kind.__name__}"):
            Answer(value).expect(kind)
    with pytest.raises(CandidateFailed, match="expected int"):
        handle().expect(int)


@pytest.mark.parametrize("value", [object(), 1j, range(3), int, type("Sub", (str,), {})("a"), [object()]])
def test_comparing_with_what_cannot_travel_is_the_authors_error(value: Any) -> None:
    with pytest.raises(TaskAuthorError, match="compares an answer with"):
        assert Answer(1) == value


def test_shown_text_is_escaped_and_short() -> None:
    shown = repr(Answer("\x1b[31mred\u202e" + "x" * 10_000))
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert len(shown) < 700
    assert len(repr(Answer([{"key": "v" * 100}] * 50_000))) < 1_000
    assert repr(Answer(1 << 70_000)) == "<int of 70,001 bits>"
    assert repr(Answer([1, handle(2)])) == "[1, <object 2 of the candidate>, ]"


def test_comparing_huge_decimals_is_cheap() -> None:
    assert same_value(Decimal("1E+999999"), Decimal("1.0E+999999"))
    assert not same_value(Decimal("1E+999999"), Decimal("1E+999998"))


def test_nested_quotes_do_not_grow_with_every_level() -> None:
    """Half a megabyte that a candidate may well send; as texts within texts it took hundreds."""
    value: Any = '"' * 100_000
    for _ in range(8):
        value = {"a": value}
    tracemalloc.start()
    try:
        assert Answer(value) == value and Answer(value) != {"a": 1}
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_a_method_that_was_not_called_is_no_truth() -> None:
    """``assert cache.purge`` would pass whatever the candidate does."""
    method = Handle(lambda *_: None, 1).purge
    assert repr(method) == "purge"
    with pytest.raises(TaskAuthorError, match="its truth"):
        assert method
