from __future__ import annotations

from typing import Any

import pytest

from pytest_agentgrade.attempt.accounting import totals
from pytest_agentgrade.attempt.exchange import Cut, Exchange, ToolCall
from pytest_agentgrade.attempt.speeds import SpeedSum, is_short_tool_choice, speeds

READ, WRITE = ToolCall("read_file", '{"path": "a"}'), ToolCall("str_replace_editor", '{"path": "a"}')
CIRCLES = "I should look at the clock once more before I write. " * 60


def a_response(tokens: int = 50, ms: float = 1_000.0, **changes: Any) -> Exchange:
    values: dict[str, Any] = {
        "number": 1, "path": "/v1/chat/completions", "requested_at": 10.0, "ended_at": 12.0, "first_token_at": 10.5,
        "request": {"stream": True}, "tool_calls": (READ,), "usage": {"completion_tokens": tokens},
        "timings": {"predicted_n": tokens, "predicted_ms": ms, "prompt_n": 300, "prompt_ms": 500.0},
    }  # fmt: skip
    return Exchange(**{**values, **changes})


@pytest.mark.parametrize(
    ("exchange", "short"),
    [
        (a_response(199), True),
        (a_response(200), False),
        (a_response(tool_calls=()), False),
        (a_response(tool_calls=(READ, WRITE)), False),
        (a_response(tool_calls=(ToolCall("multi_edit", "{}"),)), False),
        (a_response(tool_calls=(ToolCall("run", '{"command": "ls"}'),)), True),
        (a_response(cut=Cut.CLIENT), False),
    ],
)
def test_what_a_short_tool_choice_is(exchange: Exchange, short: bool) -> None:
    assert is_short_tool_choice(exchange) is short


def test_each_class_is_summed_by_itself() -> None:
    found = speeds([
        a_response(50, 1_000.0),
        a_response(600, 10_000.0, tool_calls=(WRITE,)),
        a_response(800, 4_000.0, tool_calls=(), reasoning=CIRCLES),
    ])  # fmt: skip
    assert found.every == SpeedSum(3, 1_450, 15.0)
    assert found.short_tool_choices == SpeedSum(1, 50, 1.0)
    assert found.without_loops == SpeedSum(2, 650, 11.0)


@pytest.mark.parametrize(
    "place", [{"reasoning": CIRCLES}, {"content": CIRCLES}, {"tool_calls": (ToolCall("run", CIRCLES),)}]
)
def test_a_loop_anywhere_leaves_a_response_out(place: dict[str, Any]) -> None:
    assert speeds([a_response(**place)]).without_loops.responses == 0


def test_a_response_without_a_time_is_in_no_speed() -> None:
    untimed = [a_response(timings=None), a_response(0), a_response(5, 0.0)]
    assert speeds(untimed).every == SpeedSum(0, 0, 0.0)


def test_a_cut_response_counts_up_to_its_cut() -> None:
    assert speeds([a_response(40, 2_000.0, usage=None, cut=Cut.DEADLINE)]).every == SpeedSum(1, 40, 2.0)


def test_the_first_token_is_timed_where_it_was_streamed() -> None:
    found = speeds([a_response(), a_response(request={"stream": False}), a_response(first_token_at=None)])
    assert found.first_token_seconds == (0.5,)


def test_prompt_speed_is_of_computed_tokens() -> None:
    found = speeds([a_response(), a_response(timings=None)])
    assert (found.prompt_tokens, found.prompt_seconds) == (300, 0.5)


def test_tokens_without_a_time_for_them_do_not_raise_the_speed() -> None:
    responses = [a_response(100, 1_000.0), a_response(500, timings={"predicted_n": 500})]
    sums = totals(responses)
    assert (sums.predicted_tokens, sums.predicted_seconds) == (100, 1.0)
    assert sums.predicted_tokens == speeds(responses).every.tokens and sums.drafted == 0
