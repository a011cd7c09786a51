"""The loop detector: what it finds, where it starts, when that was certain, and what it leaves alone."""

from __future__ import annotations

import random

import pytest

from pytest_agentgrade.attempt.loop_cycles import COPIED_TOKENS
from pytest_agentgrade.attempt.loops import Loop, LoopKind, find_call_loop, find_loop, split_tokens

WORDS = ["check", "cache", "entry", "clock", "expire", "lock", "value", "write", "test", "integer", "float", "raise"]


def words(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [f"{draw.choice(WORDS)}{draw.randrange(100)}" for _ in range(count)]


def text(*parts: list[str]) -> str:
    return " ".join(word for part in parts for word in part)


@pytest.mark.parametrize(("period", "copies"), [(1, 301), (3, 101), (16, 20), (40, 9), (150, 3), (230, 3), (900, 4)])
def test_a_cycle_is_found_where_it_is(period: int, copies: int) -> None:
    loop = find_loop(text(words(300, 1), words(period, seed=period + 50) * copies, words(300, 2)))
    certain = 300 + period + (COPIED_TOKENS if period <= 230 else 3 * period)
    assert loop == Loop(LoopKind.CYCLE, 300, period * copies, period, certain)


@pytest.mark.parametrize(("period", "copies"), [(1, 250), (3, 83), (16, 17), (150, 2), (231, 3), (900, 3)])
def test_fewer_copies_are_no_loop(period: int, copies: int) -> None:
    assert find_loop(text(words(300, 1), words(period, seed=period + 50) * copies, words(300, 2))) is None


def test_a_cycle_whose_parts_repeat_within_it_is_found() -> None:
    part = words(30, 5)
    cycle = [*part, *words(20, 6), *part, *words(35, 7)]
    assert find_loop(text(cycle * 6)) == Loop(LoopKind.CYCLE, 0, 115 * 6, 115, 115 + COPIED_TOKENS)


def test_copies_that_count_are_a_loop_and_a_table_of_numbers_is_none() -> None:
    cycle = ["attempt", "0", ":", "I", "look", "at", "the", "clock", "again"]
    counting = [str(number) if token == "0" else token for number in range(60) for token in cycle]
    loop = find_loop(text(words(100, 1), counting))
    assert loop is not None and (loop.kind, loop.start, loop.period) == (LoopKind.COUNTING, 100, 9)
    assert "but for their numbers" in str(loop)
    assert find_loop(", ".join(str(number * number) for number in range(2_000))) is None


def test_a_loop_with_small_changes_is_found() -> None:
    draw = random.Random(3)
    cycle = [word.rstrip("0123456789") + "abcdefghij"[index % 10] for index, word in enumerate(words(50, 8))]
    varied = [word if draw.random() > 0.05 else draw.choice(WORDS) for _ in range(40) for word in cycle]
    loop = find_loop(text(words(400, 1), varied))
    assert loop is not None and loop.kind is LoopKind.SIMILAR and loop.period is None
    assert abs(loop.start - 400) <= 60
    assert loop.start < loop.detected <= 400 + 512
    assert loop.length > 1_500


def test_what_was_certain_then_was_certain_then() -> None:
    """The text up to the token that was needed is a loop too, and without its last 40 tokens is none."""
    whole = text(words(300, 1), words(60, 9) * 20)
    loop = find_loop(whole)
    assert loop is not None
    tokens = split_tokens(whole)
    assert find_loop(" ".join(tokens[: loop.detected])) is not None
    assert find_loop(" ".join(tokens[: loop.detected - 40])) is None


def test_empty_and_short_texts_are_no_loops() -> None:
    assert [find_loop(sample) for sample in ("", "a", "a " * 299, "\n" * 9_999)] == [None] * 4


def test_tokens_are_words_and_marks() -> None:
    assert split_tokens("x_1 == 3.5; größer!") == ["x_1", "=", "=", "3", ".", "5", ";", "größer", "!"]
    assert split_tokens("等等, 再") == ["等", "等", ",", "再"]
    assert [len(token) for token in split_tokens("G" * 60)] == [24, 24, 12], "no end of one letter is a loop too"


def test_calls() -> None:
    read, write = ("read_file", '{"path": "a"}'), ("write_file", "{}")
    other = ("read_file", '{"path": "b"}')
    assert find_call_loop([other, *[read] * 7]) == Loop(LoopKind.SAME_CALL, 1, 7, 1, 6)
    assert find_call_loop([read] * 4) is None
    assert find_call_loop([read, write] * 3) == Loop(LoopKind.ALTERNATING_CALLS, 0, 6, 2, 6)
    assert find_call_loop([read, write, read, write, read, other]) is None
    assert find_call_loop([]) is None


def test_a_loop_says_what_it_is() -> None:
    assert str(Loop(LoopKind.CYCLE, 10, 200, 40, 190)) == "200 tokens from 10 on repeat 40 tokens"
    assert str(Loop(LoopKind.SAME_CALL, 1, 5, 1, 6)) == "5 calls from 1 on repeat 1 calls"
