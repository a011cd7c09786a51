"""Find texts that go round in circles. Pure functions, run on records after the fact and on every mode alike.

Looping text makes drafts easy to guess, so that speed rises with it: a speed without the loops told apart says little.
Nothing is stopped by this while it runs, unless the user asks for it (``loop_watch.py``): that shortens the responses
of one mode more than the other's.
``docs/loops.md`` has the rules, and what was measured on ordinary texts and on loops made for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from pytest_agentgrade.attempt.loop_cycles import COPIED_TOKENS, find_cycle, longest_run
from pytest_agentgrade.attempt.loop_similar import find_similar

SAME_CALLS, ALTERNATING_CALLS = 5, 6
LEAST_TOKENS = COPIED_TOKENS
"""A shorter text is no loop, whatever it says."""
_NUMBER = "#"
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]{1,24}|[^\w\s]")
"""A letter of Chinese or Japanese, up to 24 characters of a word or number, or a mark."""


class LoopKind(Enum):
    """What repeats."""

    CYCLE = "cycle"
    """The same tokens over and over."""
    COUNTING = "counting cycle"
    """The same but for its numbers."""
    SIMILAR = "similar"
    """The same phrases again and again, with small changes or in changing order."""
    SAME_CALL = "same call"
    """One tool call, with equal arguments, five times in a row."""
    ALTERNATING_CALLS = "alternating calls"
    """Two tool calls in turn, three times each."""


class Loop(NamedTuple):
    """One loop; positions and lengths in tokens of :func:`split_tokens`, or in calls."""

    kind: LoopKind
    start: int
    """Where the first copy begins; about, where copies are not exact."""
    length: int
    period: int | None
    """None where the copies are not exact."""
    detected: int
    """Tokens, or calls, that had to be seen until it was certain."""

    def __str__(self) -> str:
        if self.period is None:
            return f"similar phrases over {self.length} tokens from token {self.start}"
        unit = "calls" if self.kind in (LoopKind.SAME_CALL, LoopKind.ALTERNATING_CALLS) else "tokens"
        but = " but for their numbers" if self.kind is LoopKind.COUNTING else ""
        return f"{self.length} {unit} from {self.start} on repeat {self.period} {unit}{but}"


def split_tokens(text: str) -> list[str]:
    """Words and punctuation marks: near enough to a model's tokens where its tokenizer is not at hand."""
    return _TOKEN.findall(text)


def find_loop(text: str) -> Loop | None:
    """The loop in a text that covers most, exact ones first; None for ordinary text."""
    return find_loop_in(split_tokens(text))


def find_loop_in(tokens: Sequence[str]) -> Loop | None:
    """The same for a text already cut into tokens."""
    if len(tokens) < LEAST_TOKENS:
        return None
    if (cycle := find_cycle(tokens)) is not None:
        return Loop(LoopKind.CYCLE, *cycle)
    numbered = [_NUMBER if token.isdigit() else token for token in tokens]
    if (cycle := find_cycle(numbered, with_words=True)) is not None:
        return Loop(LoopKind.COUNTING, *cycle)
    similar = find_similar(tokens)
    return None if similar is None else Loop(LoopKind.SIMILAR, similar.start, similar.length, None, similar.detected)


def find_call_loop(calls: Sequence[tuple[str, str]]) -> Loop | None:
    """A loop in the (name, arguments) of an attempt's tool calls, in their order."""
    for period, kind, least in (
        (1, LoopKind.SAME_CALL, SAME_CALLS),
        (2, LoopKind.ALTERNATING_CALLS, ALTERNATING_CALLS),
    ):
        start, length = longest_run(calls, period)
        if length >= least:
            return Loop(kind, start, length, period, start + least)
    return None
