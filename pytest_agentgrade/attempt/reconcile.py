"""Four counts of the same tokens, held against each other response by response.

A server's two counts must be equal. What the proxy saw is a count of its own: one streamed piece for about every token
in llama.cpp, several tokens a piece in others; a tool call's syntax is swallowed by the server's parser. So the text
that came is counted again by the server's tokenizer, which is an estimate: text cut anew need not fall apart as it was
made. Whatever then differs by more than the tokens that are never shown is said in a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_agentgrade.attempt.exchange import Exchange, TokenCount, completion_tokens
from pytest_agentgrade.errors import ServerError

Tokenize = Callable[[str], int]
"""How many tokens a text is for the model; raises ServerError when nobody can say."""

END_TOKENS = 1
"""A response ends with a token that no text shows; some counts have it, some do not."""
TAG_TOKENS = 2
"""Opening and closing tag of the reasoning: generated, never delivered."""
CALL_TOKENS, ARGUMENT_TOKENS = 16, 8
"""Syntax around a tool call, and around each argument, that the server's parser takes away; the most of the usual
formats (JSON in tags 12 and 0, tags for each parameter 16 and 8)."""
RECUT_SHARE = 0.05
"""Text cut anew may be so much shorter in tokens than it was when it was made."""


@dataclass(frozen=True)
class ResponseCount:
    """The counts of one response; None where there is none."""

    number: int
    """Of the exchange."""
    deltas: int
    """Streamed pieces with some text: the proxy's own count."""
    usage: int | None
    """``usage.completion_tokens``."""
    timings: int | None
    """``timings.predicted_n``."""
    text: int | None
    """The delivered text through the server's tokenizer; an estimate."""
    reasoning: TokenCount | None
    """Source ``usage`` is the server's own count, ``tokenize`` an estimate."""
    disagreements: tuple[str, ...]
    """One sentence each; empty when all counts agree but for tokens that are never shown."""


def reconcile(exchange: Exchange, tokenize: Tokenize | None) -> ResponseCount:
    """Hold the counts of a response against each other; ``tokenize`` None: the server is gone."""
    usage, timings = _whole(exchange.usage, "completion_tokens"), _whole(exchange.timings, "predicted_n")
    text = _count(tokenize, _delivered(exchange))
    said = (_server_against_itself(usage, timings), _server_against_proxy(exchange, usage, timings, text))
    return ResponseCount(
        number=exchange.number,
        deltas=exchange.deltas,
        usage=usage,
        timings=timings,
        text=text,
        reasoning=reasoning_tokens(exchange, tokenize),
        disagreements=tuple(f"request {exchange.number}: {sentence}" for sentence in said if sentence),
    )


def reasoning_tokens(exchange: Exchange, tokenize: Tokenize | None) -> TokenCount | None:
    """Tokens spent on reasoning: the server's own count, else an estimate; None when nobody can say."""
    details = (exchange.usage or {}).get("completion_tokens_details")
    for place in (details if isinstance(details, Mapping) else None, exchange.usage):
        if (tokens := _whole(place, "reasoning_tokens")) is not None:
            return TokenCount(tokens, "usage")
    estimate = _count(tokenize, exchange.reasoning)
    return None if estimate is None else TokenCount(estimate, "tokenize")


def reconcile_all(exchanges: Iterable[Exchange], tokenize: Tokenize | None) -> tuple[ResponseCount, ...]:
    """Every response that generated anything. A tokenizer that fails once is not asked again: it may take a minute."""
    asked = None if tokenize is None else _until_it_fails(tokenize)
    return tuple(
        reconcile(exchange, asked) for exchange in exchanges if exchange.sent and completion_tokens(exchange).tokens > 0
    )


def _until_it_fails(tokenize: Tokenize) -> Tokenize:
    failure: ServerError | None = None

    def count(text: str) -> int:
        nonlocal failure
        if failure is not None:
            raise failure
        try:
            return tokenize(text)
        except ServerError as error:
            failure = error
            raise

    return count


def _server_against_itself(usage: int | None, timings: int | None) -> str:
    if usage is None or timings is None or abs(usage - timings) <= END_TOKENS:
        return ""
    return f"usage says {usage} tokens, timings {timings}"


def _server_against_proxy(exchange: Exchange, usage: int | None, timings: int | None, text: int | None) -> str:
    said = usage if usage is not None else timings
    if said is None or not exchange.request.get("stream"):
        return ""
    came = max(exchange.deltas, text or 0)
    counted = f"{exchange.deltas} pieces came" + ("" if text is None else f", about {text} tokens of text")
    # One token may come in two pieces where reasoning, text and tool calls meet.
    if exchange.deltas > said + END_TOKENS + TAG_TOKENS * (1 + len(exchange.tool_calls)):
        return f"the server counted {said} tokens, but {counted}"
    if not exchange.tool_calls and text is not None and text > said * (1 + RECUT_SHARE) + END_TOKENS + TAG_TOKENS:
        return f"the server counted only {said} tokens, but {counted}"
    if said - came > _never_shown(exchange, said, came):
        return f"the server counted {said} tokens, only {counted}"
    return ""


def _never_shown(exchange: Exchange, said: int, came: int) -> int:
    """Tokens that a response may hold beyond what comes of it."""
    hidden = END_TOKENS + (TAG_TOKENS if exchange.reasoning else 0)
    hidden += sum(CALL_TOKENS + ARGUMENT_TOKENS * call.arguments.count('":') for call in exchange.tool_calls)
    by_text = came > exchange.deltas
    return hidden + (int(RECUT_SHARE * said) if by_text else 0)


def _delivered(exchange: Exchange) -> str:
    calls = (call.name + call.arguments for call in exchange.tool_calls)
    return "".join((exchange.reasoning, exchange.content, *calls))


def _count(tokenize: Tokenize | None, text: str) -> int | None:
    if not text:
        return 0
    if tokenize is None:
        return None
    try:
        return tokenize(text)
    except ServerError:  # a server without a tokenizer page, or one that has died: no estimate
        return None


def _whole(source: Mapping[str, Any] | None, key: str) -> int | None:
    value = (source or {}).get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
