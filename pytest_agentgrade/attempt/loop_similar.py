"""Near-duplicates: stretches of words of which nearly all were said a moment ago, in phrases of four words or more.

Marks and numbers are left out, so counters and numbered copies look alike, and a table without words is none. A word
counts as said before when it is part of a phrase that was said before; a changed word then costs itself, not a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

PHRASE = 4
"""Words of the shortest phrase that counts."""
WORD_SHARE = 0.6
"""Share of words among the tokens of a window: code and tables have fewer, and are left to the exact rules."""


class Rule(NamedTuple):
    """How near, how long, how much."""

    nearest: int
    farthest: int
    """Tokens back to where the phrase was said last."""
    window: int
    """Tokens over which is counted."""
    share: float
    """Least share of the window's words that were said before."""


DIP = 0.15
"""A stretch goes on while the share is less than this below the rule's."""
RULES = (Rule(1, 90, 400, 0.78), Rule(90, 230, 280, 0.74), Rule(1, 230, 290, 0.92))
"""Short cycles are frequent in ordinary tables and lists, so they take long; far ones show 280 copied tokens of 512."""


class Stretch(NamedTuple):
    """A stretch, in tokens."""

    start: int
    length: int
    detected: int


def find_similar(tokens: Sequence[str], rules: Sequence[Rule] = RULES) -> Stretch | None:
    """The stretch that is detected first; None for ordinary text."""
    gaps, places = phrase_gaps(tokens)
    found = [stretch for rule in rules if (stretch := _stretch(len(tokens), gaps, places, rule)) is not None]
    return min(found, key=lambda stretch: stretch.detected, default=None)


def phrase_gaps(tokens: Sequence[str]) -> tuple[list[int], list[int]]:
    """(gap, place) of each word: tokens back to where the phrase that ends with it was said last, 0 if never."""
    places = [place for place, token in enumerate(tokens) if token[0].isalpha()]
    words = [tokens[place] for place in places]
    last: dict[tuple[str, ...], int] = {}
    gaps = [0] * min(PHRASE - 1, len(places))
    phrases = zip(*(words[offset:] for offset in range(PHRASE)), strict=False)
    for phrase, here in zip(phrases, places[PHRASE - 1 :], strict=True):
        gaps.append(here - last.get(phrase, here))
        last[phrase] = here
    return gaps, places


def covered_words(count: int, gaps: Sequence[int], places: Sequence[int], rule: Rule) -> tuple[list[int], list[int]]:
    """Running totals over ``count`` tokens: words said before by this rule, and words."""
    said, words = [0] * count, [0] * count
    for number, (gap, place) in enumerate(zip(gaps, places, strict=True)):
        words[place] = 1
        if rule.nearest <= gap <= rule.farthest:
            for earlier in places[max(0, number - PHRASE + 1) : number + 1]:
                said[earlier] = 1
    return [0, *accumulate(said)], [0, *accumulate(words)]


def highest_share(count: int, gaps: Sequence[int], places: Sequence[int], rule: Rule) -> float:
    """The largest share of words said before over all windows with enough words; 0 without any."""
    said, words = covered_words(count, gaps, places, rule)
    least = WORD_SHARE * rule.window
    ends = range(rule.window, count + 1)
    found = ((said[end] - said[end - rule.window], words[end] - words[end - rule.window]) for end in ends)
    return max((some / every for some, every in found if every >= least), default=0.0)


def _stretch(count: int, gaps: Sequence[int], places: Sequence[int], rule: Rule) -> Stretch | None:
    said, words = covered_words(count, gaps, places, rule)
    least, first, last = WORD_SHARE * rule.window, 0, 0
    for end in range(rule.window, count + 1):
        begin = end - rule.window
        some, every = said[end] - said[begin], words[end] - words[begin]
        if every >= least and some >= rule.share * every:
            first, last = first or end, end
        elif first and some < (rule.share - DIP) * every:
            break
    if not first:
        return None
    start = _first_copy(first - rule.window, gaps, places, rule)
    return Stretch(start, last - start, first)


def _first_copy(begin: int, gaps: Sequence[int], places: Sequence[int], rule: Rule) -> int:
    """What the first phrase of the window is a copy of."""
    for gap, place in zip(gaps, places, strict=True):
        if place >= begin and rule.nearest <= gap <= rule.farthest:
            return max(0, place - gap - PHRASE + 1)
    return begin
