"""The loop detector: what it finds, where it starts, and what it leaves alone."""

from __future__ import annotations

import random
import sysconfig
from pathlib import Path

import pytest

from pytest_agentgrade.attempt.loops import Loop, LoopKind, find_call_loop, find_loop, split_tokens

WORDS = ["check", "cache", "entry", "clock", "expire", "lock", "value", "write", "test", "integer", "float", "raise"]


def words(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [f"{draw.choice(WORDS)}{draw.randrange(100)}" for _ in range(count)]


def text(*parts: list[str]) -> str:
    return " ".join(word for part in parts for word in part)


@pytest.mark.parametrize(("period", "copies"), [(16, 12), (40, 5), (150, 4), (900, 4)])
def test_an_exact_cycle_is_found_where_it_is(period: int, copies: int) -> None:
    cycle = words(period, seed=period)
    loop = find_loop(text(words(300, 1), cycle * copies, words(300, 2)))
    assert loop == Loop(LoopKind.CYCLE, 300, period * copies, period)


@pytest.mark.parametrize(("period", "copies"), [(16, 11), (40, 4), (150, 3), (900, 3)])
def test_fewer_copies_or_tokens_are_no_loop(period: int, copies: int) -> None:
    """40 tokens four times are 160, below the 192 that are needed."""
    assert find_loop(text(words(300, 1), words(period, seed=period) * copies, words(300, 2))) is None


def test_a_cycle_whose_parts_repeat_within_it_is_found() -> None:
    part = words(30, 5)
    cycle = [*part, *words(20, 6), *part, *words(35, 7)]
    assert find_loop(text(cycle * 6)) == Loop(LoopKind.CYCLE, 0, 115 * 6, 115)


def test_a_short_cycle_counts_only_when_it_is_long() -> None:
    assert find_loop(text(words(50, 1), ["wait", "no", "yes"] * 43, words(50, 2))) == Loop(
        LoopKind.SHORT_CYCLE, 50, 129, 3
    )
    assert find_loop(text(words(50, 1), ["wait", "no", "yes"] * 42, words(50, 2))) is None
    assert find_loop("= " * 100) is None


def test_a_loop_with_small_changes_is_found() -> None:
    draw = random.Random(3)
    cycle = words(50, 8)
    varied = [word if draw.random() > 0.03 else draw.choice(WORDS) for _ in range(60) for word in cycle]
    loop = find_loop(text(varied))
    assert loop is not None
    assert loop.kind is LoopKind.SIMILAR


def test_ordinary_code_and_prose_are_no_loops() -> None:
    """None of Python 3.11's 168 single modules holds one in its first 60,000 characters; another Python may differ."""
    sources = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:40]
    assert len(sources) == 40
    hits = [path.name for path in sources if find_loop(path.read_text(encoding="utf-8", errors="replace")[:60_000])]
    assert len(hits) <= 1, hits


def test_empty_and_short_texts_are_no_loops() -> None:
    assert [find_loop(sample) for sample in ("", "a", "a a a a", "\n" * 9_999)] == [None] * 4


def test_tokens_are_words_and_marks() -> None:
    assert split_tokens("x_1 == 3.5; größer!") == ["x_1", "=", "=", "3", ".", "5", ";", "größer", "!"]


def test_calls() -> None:
    read, write = ("read_file", '{"path": "a"}'), ("write_file", "{}")
    other = ("read_file", '{"path": "b"}')
    assert find_call_loop([other, *[read] * 5]) == Loop(LoopKind.SAME_CALL, 1, 5, 1)
    assert find_call_loop([read] * 4) is None
    assert find_call_loop([read, write] * 3) == Loop(LoopKind.ALTERNATING_CALLS, 0, 6, 2)
    assert find_call_loop([read, write, read, write, read, other]) is None
    assert find_call_loop([]) is None


def test_a_loop_says_what_it_is() -> None:
    assert str(Loop(LoopKind.CYCLE, 10, 200, 40)) == "200 tokens from 10 on repeat 40 tokens"
    assert str(Loop(LoopKind.SAME_CALL, 1, 5, 1)) == "5 calls from 1 on repeat 1 calls"
