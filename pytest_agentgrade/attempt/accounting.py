"""From recorded exchanges to the totals of an attempt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_agentgrade.attempt.exchange import (
    Exchange,
    accepted_tokens,
    cached_tokens,
    completion_tokens,
    drafted_tokens,
    predicted_ms,
    prompt_ms,
    prompt_tokens,
)

_TOKENS_THAT_DRAFT = 8
"""A server that speculates has drafted by then; ``draft_n`` left out means none (llama.cpp omits a zero)."""


@dataclass(frozen=True)
class Totals:
    """Sums over an attempt's exchanges; tokens and seconds."""

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    predicted_tokens: int
    """Of the exchanges for which the server gave its generation time: the numerator of the study's speed."""
    predicted_seconds: float
    prompt_seconds: float
    drafted: int | None
    """None until enough was generated to tell."""
    accepted: int | None


def totals(exchanges: Sequence[Exchange]) -> Totals:
    """Add up what the server said of every request that reached it."""
    timed = [exchange for exchange in exchanges if exchange.timings is not None]
    predicted = sum(_predicted(exchange) for exchange in timed)
    drafted, accepted = _drafts(timed, predicted)
    return Totals(
        prompt_tokens=sum(prompt_tokens(exchange) or 0 for exchange in exchanges),
        cached_tokens=sum(cached_tokens(exchange) or 0 for exchange in exchanges),
        completion_tokens=sum(completion_tokens(exchange).tokens for exchange in exchanges),
        # Tokens without a time for them would make the speed too high.
        predicted_tokens=sum(_predicted(exchange) for exchange in timed if predicted_ms(exchange)),
        predicted_seconds=sum(predicted_ms(exchange) or 0.0 for exchange in timed) / 1000,
        prompt_seconds=sum(prompt_ms(exchange) or 0.0 for exchange in timed) / 1000,
        drafted=drafted,
        accepted=accepted,
    )


def _predicted(exchange: Exchange) -> int:
    value = (exchange.timings or {}).get("predicted_n", 0)
    return value if isinstance(value, int) else 0


def _drafts(timed: Sequence[Exchange], predicted: int) -> tuple[int | None, int | None]:
    drafted = [count for exchange in timed if (count := drafted_tokens(exchange)) is not None]
    if drafted:
        return sum(drafted), sum(accepted_tokens(exchange) or 0 for exchange in timed)
    return (0, 0) if predicted >= _TOKENS_THAT_DRAFT else (None, None)
