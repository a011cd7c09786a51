"""Loops made for measuring: an ordinary beginning, then a cycle cut from another ordinary text, over and over."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from typing import NamedTuple

SEED = 20261002
PERIODS = (4, 5, 6, 8, 11, 16, 24, 32, 48, 64, 80, 100, 128, 160, 200)
"""Tokens of a cycle, of both paragraphs together where there are two."""
WITHIN = 512
"""Tokens from the start of a loop in which it is to be found."""
PROSE_SHARE = 0.6
"""Words among the tokens of a cycle, except of ``exact, code``: reasoning is prose."""
Tokens = list[str]
Copies = Iterator[Tokens]


class Specimen(NamedTuple):
    """A text that loops from ``start`` to its end."""

    kind: str
    period: int
    tokens: Tokens
    start: int


class Sources(NamedTuple):
    """Ordinary texts to cut from."""

    prose: Sequence[Sequence[str]]
    code: Sequence[Sequence[str]]


def specimens(sources: Sources, each: int, seed: int = SEED) -> Iterator[Specimen]:
    """``each`` loops of every kind and period."""
    draw = random.Random(seed)
    words = [token for text in sources.prose for token in text[:200] if token.isalpha()]
    for kind, copies in KINDS.items():
        for period in PERIODS:
            for _ in range(each):
                begin = draw.choice(sources.prose)[: draw.randrange(100, 1_000)]
                texts, share = (sources.code, 0.0) if kind == "exact, code" else (sources.prose, PROSE_SHARE)
                loop = _joined(copies(draw, _cut(draw, texts, period, share), words))
                yield Specimen(kind, period, [*begin, *loop], len(begin))


def _joined(copies: Copies) -> Tokens:
    return list(islice((token for copy in copies for token in copy), WITHIN))


def _cut(draw: random.Random, texts: Sequence[Sequence[str]], length: int, word_share: float) -> Tokens:
    while True:
        text = draw.choice(texts)
        start = draw.randrange(len(text) - length)
        piece = list(text[start : start + length])
        if sum(token[0].isalpha() for token in piece) >= word_share * length:
            return piece


def _changed(draw: random.Random, cycle: Tokens, words: Tokens, share: float) -> Tokens:
    return [draw.choice(words) if draw.random() < share else token for token in cycle]


def _exact(_draw: random.Random, cycle: Tokens, _words: Tokens) -> Copies:
    return (cycle for _ in count())


def _two_percent(draw: random.Random, cycle: Tokens, words: Tokens) -> Copies:
    return (_changed(draw, cycle, words, 0.02) for _ in count())


def _five_percent(draw: random.Random, cycle: Tokens, words: Tokens) -> Copies:
    return (_changed(draw, cycle, words, 0.05) for _ in count())


def _numbered(draw: random.Random, cycle: Tokens, _words: Tokens) -> Copies:
    """Each copy has its number in front, and other numbers inside."""
    for number in count(1):
        yield [str(number), ".", *(str(draw.randrange(1_000)) if token.isdigit() else token for token in cycle)]


def _counting(_draw: random.Random, cycle: Tokens, _words: Tokens) -> Copies:
    """Up to three counters inside grow by one a copy."""
    places = range(min(3, len(cycle) - 1), len(cycle), max(12, len(cycle) // 3))
    for number in count():
        yield [str(5 * place + number) if place in places else token for place, token in enumerate(cycle)]


def _alternating(draw: random.Random, cycle: Tokens, words: Tokens) -> Copies:
    """Two paragraphs in turn, 2 % of the words changed."""
    half = len(cycle) // 2
    for number in count():
        yield _changed(draw, cycle[half:] if number % 2 else cycle[:half], words, 0.02)


def _shuffled(draw: random.Random, cycle: Tokens, _words: Tokens) -> Copies:
    """Two paragraphs, now the one and now the other, by chance."""
    half = draw.randrange(len(cycle) // 4, len(cycle) // 2 + 1)
    return (draw.choice((cycle[:half], cycle[half:])) for _ in count())


KINDS: dict[str, Callable[[random.Random, Tokens, Tokens], Copies]] = {
    "exact": _exact,
    "exact, code": _exact,
    "2 % of words changed": _two_percent,
    "5 % of words changed": _five_percent,
    "numbered copies": _numbered,
    "growing counters": _counting,
    "alternating paragraphs": _alternating,
    "two paragraphs by chance": _shuffled,
}
