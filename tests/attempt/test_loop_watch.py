"""The watch over replies that still come in: it says what the pass over the record says, and soon enough."""

from __future__ import annotations

import http.client
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_agentgrade.attempt.exchange import ToolCall
from pytest_agentgrade.attempt.loop_watch import LOOK_EVERY, LoopWatch
from pytest_agentgrade.attempt.loops import find_loop, split_tokens
from pytest_agentgrade.attempt.proxy_stream import ReplyParts
from tests.attempt.test_loops import text, words
from tests.scripted_server import LOOP, pieces


@dataclass(frozen=True)
class Told:
    """What the watch said, and of how much of the text."""

    loop: str
    seen: str


def watched(whole: str, field: str = "reasoning_content") -> Told | None:
    """Feed a text as a server streams it, until the watch finds a loop."""
    watch, parts, seen = LoopWatch(), ReplyParts(), 0
    for piece in pieces(whole):
        parts.add({"choices": [{"delta": {field: piece}}]})
        seen += len(piece)
        if (loop := watch.look(parts, parts.characters)) is not None:
            return Told(loop, whole[:seen])
    return None


def changed_a_little(cycle: list[str], copies: int, seed: int) -> Iterator[str]:
    draw = random.Random(seed)
    for _ in range(copies):
        yield from (word if draw.random() > 0.03 else draw.choice(cycle) for word in cycle)


COUNTING = [word for n in range(200) for word in ("attempt", str(n), ":", "I", "look", "at", "the", "clock")]
LOOPS = {
    "cycle of 1": ["so"] * 2_000,
    "cycle of 40": words(40, 9) * 60,
    "cycle of 200": words(200, 9) * 12,
    "cycle of 400": words(400, 9) * 8,
    "counting": COUNTING,
    "similar": list(changed_a_little(words(60, 4), 40, seed=5)),
    "a paragraph": (LOOP * 80).split(),
}


@pytest.mark.parametrize("field", ["reasoning_content", "content"])
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("before", [0, 300, 6_000])
def test_what_is_found_is_what_the_record_shows_and_little_later(name: str, before: int, field: str) -> None:
    whole = text(words(before, 1), LOOPS[name])
    told = watched(whole, field)
    assert told is not None
    recorded = find_loop(told.seen)
    assert recorded is not None and told.loop.endswith(str(recorded)), "the pass over the cut text says the same"
    late = len(told.seen) - len(text(split_tokens(told.seen)[: recorded.detected]))
    assert late <= 2 * LOOK_EVERY
    assert find_loop(whole) is not None


@pytest.mark.parametrize("name", LOOPS)
def test_no_loop_is_cut_before_it_was_certain(name: str) -> None:
    whole = text(words(500, 1), LOOPS[name])
    loop = find_loop(whole)
    assert loop is not None
    assert watched(text(split_tokens(whole)[: loop.detected - 40])) is None


def test_ordinary_texts_pass() -> None:
    for path in sorted(Path(http.client.__file__).parent.glob("*.py")):
        assert watched(path.read_text()[:40_000]) is None


def test_the_arguments_of_every_call_are_watched() -> None:
    watch, parts = LoopWatch(), ReplyParts()
    parts.add({"choices": [{"delta": {"reasoning": "I write.", "content": "So:"}}]})
    for index, arguments in enumerate((text(words(900, 2)), text(words(30, 3) * 40))):
        call = {"index": index, "function": {"name": "write_file", "arguments": arguments}}
        assert watch.look(parts, parts.characters) is None
        parts.add({"choices": [{"delta": {"tool_calls": [call]}}]})
    assert parts.characters == len("I write.So:") + sum(len(call.arguments) for call in parts.tool_calls)
    assert parts.tool_calls[0] == ToolCall("write_file", text(words(900, 2)))
    assert str(watch.look(parts, parts.characters)).startswith("tool call 2 goes round in circles: ")


@pytest.mark.parametrize("kind", ["code", "words"])
def test_a_token_costs_little_however_long_the_reply_is(kind: str) -> None:
    """So little that a stream of 1,000 tokens/s still has nearly all of the time for itself."""
    code = "".join(path.read_text() for path in sorted(Path(http.client.__file__).parent.glob("*.py")))
    whole = (code if kind == "code" else text(words(40_000, 3)))[:200_000]
    watch, parts, fed = LoopWatch(), ReplyParts(), pieces(whole)
    took = 0.0
    for piece in fed:
        parts.add({"choices": [{"delta": {"reasoning": piece}}]})
        started = time.thread_time()
        assert watch.look(parts, parts.characters) is None
        took += time.thread_time() - started
    assert took / len(fed) < 200e-6, f"{1e6 * took / len(fed):.1f} us a token"
