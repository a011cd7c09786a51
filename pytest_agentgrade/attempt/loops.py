"""Find texts that go round in circles. Pure functions, run on records after the fact and on every mode alike.

Looping text makes drafts easy to guess, so that speed rises with it: a speed without the loops told apart says little.
Nothing is ever stopped by this while it runs; that would shorten the responses of one mode more than the other's.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple

MIN_PERIOD, MIN_COPIES, MIN_CYCLE_TOKENS = 16, 4, 192
"""An exact cycle. Of about 1,500 ordinary files 2 % of the Python, none of the C++, 7.5 % of the Markdown hold
one of period 16 to 256 with 4 copies - tables, generated code - so it is evidence in reasoning and a hint elsewhere."""
SHORT_CYCLE_TOKENS = 128
"""Shorter periods are common in code, runs of this length are not."""
WINDOW, GRAM, SIMILAR_SHARE = 2_000, 4, 0.8
"""Share of a window's 4-grams that occur at least four times in it. Median 0.1 to 0.4, 99th percentile 0.56 to 0.75 in
1,300 windows of the standard library, numpy, C headers and Perl's manual; 0.94 for a made-up loop with 2 % of its words
changed, 0.81 with 5 %."""
SAME_CALLS, ALTERNATING_CALLS = 5, 6
_MIN_GAPS = 100
"""A cycle of 192 tokens in 4 copies shows its period at least 129 times as the distance between equal 16-grams."""
_LOOK_BACK = 3
_TOKEN = re.compile(r"\w+|[^\w\s]")


class LoopKind(Enum):
    """What repeats."""

    CYCLE = "cycle"
    """The same tokens, at least 16 of them, at least 4 times in a row."""
    SHORT_CYCLE = "short cycle"
    """Up to 15 tokens in a row for 128 tokens or more."""
    SIMILAR = "similar"
    """The same phrases again and again, with small changes."""
    SAME_CALL = "same call"
    """One tool call, with equal arguments, five times in a row."""
    ALTERNATING_CALLS = "alternating calls"
    """Two tool calls in turn, three times each."""


class Loop(NamedTuple):
    """One loop; positions and lengths in tokens, or in calls."""

    kind: LoopKind
    start: int
    length: int
    period: int | None
    """None where the copies are not exact."""

    def __str__(self) -> str:
        if self.period is None:
            return f"similar phrases over {self.length} tokens from token {self.start}"
        unit = "calls" if self.kind in (LoopKind.SAME_CALL, LoopKind.ALTERNATING_CALLS) else "tokens"
        return f"{self.length} {unit} from {self.start} on repeat {self.period} {unit}"


def split_tokens(text: str) -> list[str]:
    """Words and punctuation marks: near enough to a model's tokens where its tokenizer is not at hand."""
    return _TOKEN.findall(text)


def find_loop(text: str) -> Loop | None:
    """The loop in a text that covers most, exact ones first; None for ordinary text."""
    tokens = split_tokens(text)
    exact = [loop for loop in (_longest_cycle(tokens), _longest_short_cycle(tokens)) if loop is not None]
    return max(exact, key=lambda loop: loop.length) if exact else _similar(tokens)


def find_call_loop(calls: Sequence[tuple[str, str]]) -> Loop | None:
    """A loop in the (name, arguments) of an attempt's tool calls, in their order."""
    for period, kind, least in (
        (1, LoopKind.SAME_CALL, SAME_CALLS),
        (2, LoopKind.ALTERNATING_CALLS, ALTERNATING_CALLS),
    ):
        start, length = _longest_run(calls, period)
        if length >= least:
            return Loop(kind, start, length, period)
    return None


def _longest_cycle(tokens: Sequence[str]) -> Loop | None:
    best: Loop | None = None
    for period in _likely_periods(tokens):
        start, length = _longest_run(tokens, period)
        if length < max(MIN_CYCLE_TOKENS, MIN_COPIES * period):
            continue
        # A multiple of the true period covers as much: the shortest period wins a tie.
        if best is None or (length, -period) > (best.length, -(best.period or 0)):
            best = Loop(LoopKind.CYCLE, start, length, period)
    return best


def _likely_periods(tokens: Sequence[str]) -> list[int]:
    """Frequent distances between equal 16-grams: trying every period would take the square of the text's length."""
    seen: defaultdict[int, deque[int]] = defaultdict(lambda: deque(maxlen=_LOOK_BACK))
    gaps: Counter[int] = Counter()
    for place in range(len(tokens) - MIN_PERIOD + 1):
        places = seen[hash(tuple(tokens[place : place + MIN_PERIOD]))]
        gaps.update(place - earlier for earlier in places)
        places.append(place)
    return sorted(gap for gap, count in gaps.items() if gap >= MIN_PERIOD and count >= _MIN_GAPS)


def _longest_short_cycle(tokens: Sequence[str]) -> Loop | None:
    runs = [(period, *_longest_run(tokens, period)) for period in range(1, MIN_PERIOD)]
    period, start, length = max(runs, key=lambda run: (run[2], -run[0]))
    return Loop(LoopKind.SHORT_CYCLE, start, length, period) if length >= SHORT_CYCLE_TOKENS else None


def _longest_run(items: Sequence[object], period: int) -> tuple[int, int]:
    """(start, length) of the longest stretch in which each item equals the one ``period`` before it."""
    best = (0, min(len(items), period))
    run = 0
    for place in range(period, len(items)):
        run = run + 1 if items[place] == items[place - period] else 0
        if run and run + period > best[1]:
            best = (place - period - run + 1, run + period)
    return best


def _similar(tokens: Sequence[str]) -> Loop | None:
    for start in range(0, len(tokens) - WINDOW + 1, WINDOW // 2):
        if _repeated_share(tokens[start : start + WINDOW]) >= SIMILAR_SHARE:
            return Loop(LoopKind.SIMILAR, start, WINDOW, None)
    return None


def _repeated_share(tokens: Sequence[str]) -> float:
    counts = Counter(_grams(tokens))
    return sum(count for count in counts.values() if count >= MIN_COPIES) / max(1, counts.total())


def _grams(tokens: Sequence[str]) -> Iterable[tuple[str, ...]]:
    return zip(*(tokens[offset:] for offset in range(GRAM)), strict=False)
