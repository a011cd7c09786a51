"""How fast the responses of an attempt came, in the classes that users feel apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_agentgrade.attempt.exchange import Exchange, completion_tokens, named_texts, predicted_ms, prompt_ms
from pytest_agentgrade.attempt.loops import find_loop

SHORT_TOKENS = 200
"""A short tool-choice response has fewer tokens than this."""
_WRITES = re.compile(r"write|edit|replace|patch|create|insert|append|save", re.IGNORECASE)
"""Names of tools that carry a payload: their arguments are the work itself, not a choice."""


@dataclass(frozen=True)
class SpeedSum:
    """Generation over some responses: tokens and the server's own seconds for them."""

    responses: int
    tokens: int
    seconds: float


@dataclass(frozen=True)
class Speeds:
    """Sums over an attempt's responses, of those for which the server gave its generation time."""

    every: SpeedSum
    """All of them: the study's aggregate speed is tokens / seconds."""
    short_tool_choices: SpeedSum
    """See :func:`is_short_tool_choice`."""
    without_loops: SpeedSum
    """Responses with no loop in reasoning, text or arguments: looping text is easily guessed and so drafts well."""
    first_token_seconds: tuple[float, ...]
    """From a request to the first token of its response, for each streamed one."""
    prompt_tokens: int
    """Prompt tokens that the server computed (cached ones left out) ..."""
    prompt_seconds: float
    """... in so many seconds of its own."""


def speeds(exchanges: Sequence[Exchange]) -> Speeds:
    """Add up the responses by class."""
    timed = [exchange for exchange in exchanges if (predicted_ms(exchange) or 0.0) > 0 and _predicted(exchange)]
    return Speeds(
        every=_sum(timed),
        short_tool_choices=_sum(filter(is_short_tool_choice, timed)),
        without_loops=_sum(exchange for exchange in timed if not loops(exchange)),
        first_token_seconds=tuple(
            exchange.first_token_at - exchange.requested_at
            for exchange in exchanges
            if exchange.first_token_at is not None and exchange.request.get("stream")
        ),
        prompt_tokens=sum(_whole(exchange, "prompt_n") for exchange in exchanges),
        prompt_seconds=sum(prompt_ms(exchange) or 0.0 for exchange in exchanges) / 1000,
    )


def is_short_tool_choice(exchange: Exchange) -> bool:
    """A whole response of fewer than :data:`SHORT_TOKENS` tokens, reasoning included, that calls tools and writes no
    file with them: what an agent sends most often, and what feels like chat."""
    return (
        exchange.cut is None
        and bool(exchange.tool_calls)
        and not any(_WRITES.search(call.name) for call in exchange.tool_calls)
        and completion_tokens(exchange).tokens < SHORT_TOKENS
    )


def loops(exchange: Exchange) -> bool:
    """Whether any text of a response goes round in circles."""
    return any(find_loop(text) is not None for _, text in named_texts(exchange))


def _sum(exchanges: Iterable[Exchange]) -> SpeedSum:
    found = list(exchanges)
    seconds = sum(predicted_ms(exchange) or 0.0 for exchange in found) / 1000
    return SpeedSum(len(found), sum(map(_predicted, found)), seconds)


def _predicted(exchange: Exchange) -> int:
    return _whole(exchange, "predicted_n")


def _whole(exchange: Exchange, key: str) -> int:
    value = (exchange.timings or {}).get(key)
    return value if type(value) is int and value > 0 else 0
