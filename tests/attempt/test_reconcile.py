"""Counts of tokens held against each other: streams through the real proxy, and servers that count wrong."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_agentgrade.attempt.exchange import Exchange, TokenCount, ToolCall
from pytest_agentgrade.attempt.reconcile import reasoning_tokens, reconcile, reconcile_all
from pytest_agentgrade.errors import ServerError
from tests.attempt.test_proxy import policy, rig  # noqa: F401 - a fixture
from tests.scripted_server import LOOP, SCRIPTS, Call, Say, in_turn, pieces

Make = Callable[..., Any]


def tokenize(text: str) -> int:
    return len(pieces(text))


def a_stream(deltas: int, usage: int | None, timings: int | None = None, **changes: Any) -> Exchange:
    values: dict[str, Any] = {
        "number": 3, "path": "/v1/chat/completions", "requested_at": 0.0, "ended_at": 1.0, "status": 200,
        "request": {"stream": True, "max_tokens": 8192}, "content": "word " * deltas, "deltas": deltas,
        "usage": None if usage is None else {"completion_tokens": usage},
        "timings": None if timings is None else {"predicted_n": timings},
    }  # fmt: skip
    return Exchange(**{**values, **changes})


@pytest.mark.parametrize(
    "said",
    [
        Say(content="I write. " * 20),
        Say(reasoning="Let me look. " * 30, content="Done."),
        Say(reasoning="So.", calls=(Call("write_file", {"path": "a", "content": "x = 1\n" * 9}), Call("list_files"))),
    ],
    ids=["text", "reasoning", "calls"],
)
@pytest.mark.parametrize("cap", [5, 1_000])
def test_counts_of_a_good_server_agree_whole_or_cut_by_the_cap(rig: Make, said: Say, cap: int) -> None:  # noqa: F811
    with rig(in_turn(said), policy(response_tokens=cap)) as it:
        it.post(stream=True)
        (exchange,) = it.wait_for(1)
    count = reconcile(exchange, tokenize)
    assert count.disagreements == ()
    assert count.deltas == count.usage == count.timings
    assert count.reasoning is not None and count.reasoning.source == "tokenize"
    assert count.reasoning.tokens == len(pieces(exchange.reasoning))


def test_a_stream_that_broke_has_its_count_in_the_timings(rig: Make) -> None:  # noqa: F811
    with rig(in_turn(Say(content=LOOP, drop_after=5))) as it:
        with pytest.raises(http.client.IncompleteRead):
            it.post(stream=True)
        (exchange,) = it.wait_for(1)
    count = reconcile(exchange, tokenize)
    assert (count.deltas, count.usage, count.timings, count.disagreements) == (5, None, 5, ())


def test_a_full_budget_reported_for_a_response_that_was_cut_short_is_said() -> None:
    """As speculating builds have done: 8,192 tokens in usage, 300 delivered."""
    (sentence,) = reconcile(a_stream(300, 8192), tokenize).disagreements
    assert sentence.startswith("request 3: the server counted 8192 tokens, only 300 pieces came")
    (sentence,) = reconcile(a_stream(300, 8192), None).disagreements
    assert sentence == "request 3: the server counted 8192 tokens, only 300 pieces came"


def test_the_servers_two_counts_must_agree_but_for_the_end_token() -> None:
    assert reconcile(a_stream(50, 51, 50), tokenize).disagreements == ()
    assert reconcile(a_stream(50, 52, 50), None).disagreements[0] == "request 3: usage says 52 tokens, timings 50"


def test_more_than_the_server_counted_is_never_right() -> None:
    assert reconcile(a_stream(53, 50), tokenize).disagreements == ()
    (sentence,) = reconcile(a_stream(60, 50), tokenize).disagreements
    assert "counted 50 tokens, but 60 pieces came" in sentence


def test_the_end_token_is_allowed_and_two_missing_ones_are_not() -> None:
    assert reconcile(a_stream(50, 51), None).disagreements == ()
    assert len(reconcile(a_stream(50, 52), None).disagreements) == 1
    reasoned = a_stream(50, 53, reasoning="so")
    assert reconcile(reasoned, None).disagreements == (), "the tags of the reasoning are tokens too"


def test_several_tokens_in_a_piece_are_no_disagreement_where_the_text_can_be_counted() -> None:
    """vLLM sends what a step accepted in one piece."""
    packed = replace(a_stream(20, 101), content="word " * 100)
    assert reconcile(packed, tokenize).disagreements == ()
    assert len(reconcile(packed, None).disagreements) == 1


def test_the_syntax_of_tool_calls_is_no_disagreement() -> None:
    call = ToolCall("write_file", json.dumps({"path": "a.py", "content": "x"}))
    assert reconcile(a_stream(9, 40, content="", tool_calls=(call,)), tokenize).disagreements == ()
    assert len(reconcile(a_stream(9, 140, content="", tool_calls=(call,)), tokenize).disagreements) == 1


@pytest.mark.parametrize(
    "usage",
    [{"completion_tokens_details": {"reasoning_tokens": 7}}, {"reasoning_tokens": 7},
     {"completion_tokens_details": None, "reasoning_tokens": 7}],
)  # fmt: skip
def test_the_servers_own_count_of_reasoning_goes_first(usage: dict[str, Any]) -> None:
    exchange = a_stream(9, 9, reasoning="a b c d")
    assert reasoning_tokens(replace(exchange, usage=usage), tokenize) == TokenCount(7, "usage")


def test_nobody_can_say_how_much_reasoning_when_the_server_is_gone() -> None:
    def gone(_text: str) -> int:
        raise ServerError("/tokenize does not answer")

    reasoned = a_stream(9, 9, reasoning="a b c d")
    assert reasoning_tokens(reasoned, None) is None
    assert reasoning_tokens(reasoned, gone) is None
    assert reasoning_tokens(a_stream(9, 9), None) == TokenCount(0, "tokenize"), "no text is no token"


def test_only_responses_that_generated_something_are_counted(rig: Make) -> None:  # noqa: F811
    with rig(SCRIPTS["overflow"]) as it:
        it.post(stream=True)
        it.post(stream=True, messages=[{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}])
        exchanges = it.wait_for(2)
    assert [count.number for count in reconcile_all(exchanges, tokenize)] == [1]


def test_a_server_that_counts_too_few_tokens_is_told_though_pieces_are_fewer_still() -> None:
    few = a_stream(50, usage=100, timings=100)
    assert reconcile(few, lambda _: 400).disagreements == (
        "request 3: the server counted only 100 tokens, but 50 pieces came, about 400 tokens of text",
    )
    assert reconcile(few, lambda _: 105).disagreements == ()
    call = a_stream(50, usage=100, content="", tool_calls=(ToolCall("write_file", '{"text":"a"}'),))
    assert reconcile(call, lambda _: 140).disagreements == ()


def test_a_tokenizer_that_fails_is_not_asked_again() -> None:
    """A server that hangs takes a minute for each answer it does not give; an attempt has a hundred responses."""
    asked: list[str] = []

    def hanging(text: str) -> int:
        asked.append(text)
        if len(asked) == 3:
            raise ServerError("/tokenize does not answer: timed out")
        return tokenize(text)

    counts = reconcile_all([a_stream(9, 9, number=number, reasoning="So. ") for number in range(1, 9)], hanging)
    assert len(asked) == 3
    assert [count.text is not None for count in counts] == [True, *[False] * 7]
    assert all(count.usage == 9 for count in counts)
