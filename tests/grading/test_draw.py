"""Inputs are the same for the same seed, and as different as promised."""

from __future__ import annotations

import keyword
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentgrade.errors import TaskAuthorError
from pytest_agentgrade.grading.draw import Draw

seeds = st.integers(0, 2**128 - 1)


def everything(seed: int) -> list[object]:
    draw = Draw(seed)
    return [
        draw.integer(1, 10**30),
        draw.text(),
        draw.texts(5),
        draw.identifier(),
        draw.identifiers(3),
        draw.bytes(9),
        draw.date(),
        draw.boolean(),
        draw.float(0, 9),
        draw.decimal(1, 9, 3),
        draw.choice("abc"),
        draw.sample(range(99), 4),
        draw.shuffled(range(9)),
    ]


def test_same_seed_same_inputs() -> None:
    assert everything(5) == everything(5)
    assert everything(5) != everything(6)


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_what_is_promised_about_each_kind(seed: int) -> None:
    draw = Draw(seed)
    text = draw.text(3, 5)
    assert 3 <= len(text) <= 5
    assert text.isalpha()
    assert text.isprintable()
    name = draw.identifier()
    assert name.isidentifier() and name.isascii() and not keyword.iskeyword(name)
    assert len(set(draw.texts(20))) == len(set(draw.identifiers(20))) == 20
    assert not draw.float(-3, 3).is_integer()
    amount = draw.decimal(-5, 5, 2)
    assert type(amount) is Decimal and amount.as_tuple().exponent == -2 and -5 <= amount <= 5
    assert 2001 <= draw.date().year <= 2030
    assert 3 <= draw.integer(3, 4) <= 4
    assert sorted(draw.shuffled(range(9))) == list(range(9))
    assert len(draw.bytes(7)) == 7


def test_foreign_letters_come_now_and_then() -> None:
    foreign = sum(not Draw(seed).text().isascii() for seed in range(200))
    assert 10 < foreign < 120


def test_float_without_fractions_is_the_authors_error() -> None:
    with pytest.raises(TaskAuthorError, match="whole numbers only"):
        Draw(1).float(2.0**60, 2.0**61)
