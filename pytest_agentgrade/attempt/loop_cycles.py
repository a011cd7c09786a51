"""Cycles: stretches in which each token equals the one a period before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

COPIED_TOKENS = 300
"""Tokens that must be copies. With a period of 200 that takes one and a half copies beside the first."""
SHORT_PERIOD, LONG_COPIES = 230, 3
"""Text copied from farther back is common - a second function like the first one - so longer periods need three whole
copies beside the first."""
WORD_SHARE = 0.3
"""Where numbers may differ, at least so many tokens are words: tables of numbers are no loops."""
_GRAM, _MIN_GAPS = 8, 40
"""A cycle of 300 copied tokens holds 293 copied 8-grams; where its parts repeat within it, only some were said last a
period ago."""


class Cycle(NamedTuple):
    """A cycle, in tokens."""

    start: int
    length: int
    period: int
    detected: int
    """Position at which enough was copied."""


def find_cycle(tokens: Sequence[str], *, with_words: bool = False) -> Cycle | None:
    """The longest cycle, None without any; ``with_words``: one in which :data:`WORD_SHARE` of the tokens are words."""
    best: Cycle | None = None
    for period in _likely_periods(tokens):
        start, length = longest_run(tokens, period)
        needed = COPIED_TOKENS if period <= SHORT_PERIOD else LONG_COPIES * period
        if length - period < needed or (with_words and not _wordy(tokens[start : start + period])):
            continue
        # A multiple of the true period covers as much: the shortest period wins a tie.
        if best is None or (length, -period) > (best.length, -best.period):
            best = Cycle(start, length, period, start + period + needed)
    return best


def longest_run(items: Sequence[object], period: int) -> tuple[int, int]:
    """(start, length) of the longest stretch in which each item equals the one ``period`` before it."""
    best = (0, min(len(items), period))
    run = 0
    for place in range(period, len(items)):
        run = run + 1 if items[place] == items[place - period] else 0
        if run and run + period > best[1]:
            best = (place - period - run + 1, run + period)
    return best


def _likely_periods(tokens: Sequence[str]) -> list[int]:
    """Frequent distances between equal 8-grams: trying every period would take the square of the text's length."""
    last: dict[tuple[str, ...], int] = {}
    gaps: Counter[int] = Counter()
    for place, gram in enumerate(zip(*(tokens[offset:] for offset in range(_GRAM)), strict=False)):
        if gram in last:
            gaps[place - last[gram]] += 1
        last[gram] = place
    return sorted(gap for gap, count in gaps.items() if count >= _MIN_GAPS)


def _wordy(tokens: Sequence[str]) -> bool:
    return sum(token[0].isalpha() for token in tokens) >= WORD_SHARE * len(tokens)
