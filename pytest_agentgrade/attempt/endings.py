"""What stopped, limited or derailed an attempt. Pure functions over what was recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_agentgrade.attempt.agents.base import AgentEnd, AgentRun
from pytest_agentgrade.attempt.ending_kinds import CONTEXT_SLACK, AttemptLimits, Ending, EndingRecord
from pytest_agentgrade.attempt.ending_of_run import of_run, of_tree
from pytest_agentgrade.attempt.exchange import Cut, Exchange, completion_tokens, prompt_tokens
from pytest_agentgrade.attempt.loops import find_call_loop, find_loop
from pytest_agentgrade.escaping import escape

__all__ = ["AttemptLimits", "Ending", "EndingRecord", "Endings", "classify_endings"]

_ONCE = frozenset({Ending.TASK_CLOCK, Ending.TURN_LIMIT, Ending.SERVER_DIED, Ending.LOOP_ABORTED})
"""Seen from several sides, but they happen once."""


@dataclass(frozen=True)
class Endings:
    """How an attempt ended, and how near it came to the limits it did not reach."""

    records: tuple[EndingRecord, ...]
    """Each ending once, at its first time; in the order of time."""
    tokens_left: int | None
    """Response budget left over by the longest response; None without a response."""
    seconds_left: float
    """Of the task clock; 0 when it ran out."""
    context_left: int | None = None
    """Context left over by the longest prompt and response together; None where its size is not known."""
    turns_left: int | None = None
    """Requests that the agent had left."""


def classify_endings(
    exchanges: Sequence[Exchange],
    run: AgentRun,
    changed_production: Iterable[str],
    changed_other: Iterable[str],
    limits: AttemptLimits,
    *,
    server_died: bool = False,
) -> Endings:
    """Tell how an attempt ended.

    ``changed_production`` are the changed paths that are judged, ``changed_other`` all other changed ones.
    ``server_died``: the server's process was seen dead at the end of the attempt.
    """
    found = [
        *_of_exchanges(exchanges, run, limits, server_died),
        *_of_calls(exchanges),
        *of_run(exchanges, run, limits),
        *of_tree(run, tuple(changed_production), tuple(changed_other)),
    ]
    sent = [exchange for exchange in exchanges if exchange.sent]
    used = [completion_tokens(exchange).tokens for exchange in sent]
    whole = [(prompt_tokens(exchange) or 0) + tokens for exchange, tokens in zip(sent, used, strict=True)]
    return Endings(
        records=_first_times(found),
        tokens_left=max(0, limits.response_tokens - max(used)) if used else None,
        seconds_left=max(0.0, limits.task_seconds - run.seconds),
        context_left=max(0, limits.context - max(whole)) if whole and limits.context is not None else None,
        turns_left=max(0, limits.max_turns - sum(not exchange.auxiliary for exchange in sent)),
    )


def _first_times(found: list[EndingRecord]) -> tuple[EndingRecord, ...]:
    groups: dict[Ending, list[EndingRecord]] = {}
    for record in sorted(found, key=lambda record: record.at_seconds):
        groups.setdefault(record.ending, []).append(record)
    return tuple(_counted(records) for records in groups.values())


def _counted(records: list[EndingRecord]) -> EndingRecord:
    first = records[0]
    once = len(records) == 1 or first.ending in _ONCE
    return first if once else first._replace(detail=f"{first.detail} ({len(records)} times)")


# ---------------------------------------------------------------------------------------------- from the exchanges


def _of_exchanges(
    exchanges: Sequence[Exchange], run: AgentRun, limits: AttemptLimits, server_died: bool
) -> Iterator[EndingRecord]:
    gone = [exchange for exchange in exchanges if exchange.cut is Cut.UPSTREAM and exchange.status is None]
    died = server_died or bool(gone)
    answered = (exchange for exchange in exchanges if exchange.status is not None or exchange.cut is Cut.BROKEN)
    last_sent = max((exchange.number for exchange in answered), default=0)
    for exchange in exchanges:
        if died and exchange.cut is Cut.BROKEN and exchange.number == last_sent:
            yield _record(Ending.SERVER_DIED, exchange, exchange.error)
            continue
        yield from _of_reply(exchange, limits)
        if (cut := _of_cut(exchange, run)) is not None:
            yield cut
    if server_died and not exchanges:
        yield EndingRecord(Ending.SERVER_DIED, run.seconds, "before the first request")
    elif server_died and not gone:
        yield _record(Ending.SERVER_DIED, exchanges[-1], "found dead at the end")


def _of_cut(exchange: Exchange, run: AgentRun) -> EndingRecord | None:
    match exchange.cut:
        case Cut.DEADLINE:
            return _record(Ending.TASK_CLOCK, exchange, _progress(exchange))
        case Cut.REFUSED:
            return _record(Ending.TURN_LIMIT, exchange, exchange.error)
        case Cut.LOOP:
            return _record(Ending.LOOP_ABORTED, exchange, f"{_progress(exchange)}; {exchange.error}".removeprefix("; "))
        case Cut.BROKEN:
            return _record(_of_error(exchange) or Ending.STREAM_BROKEN, exchange, exchange.error)
        case Cut.CLIENT if run.ended is AgentEnd.EXITED:  # a killed agent's requests are cut by the kill
            return _record(Ending.AGENT_HUNG_UP, exchange, exchange.error)
        case Cut.UPSTREAM:
            return _record(_of_server_error(exchange), exchange, exchange.error)
        case _:
            return None


def _of_server_error(exchange: Exchange) -> Ending:
    return Ending.SERVER_DIED if exchange.status is None else _of_error(exchange) or Ending.SERVER_ERROR


def _of_error(exchange: Exchange) -> Ending | None:
    """What an error of the server means by itself, whether it came with a status or inside a stream."""
    if exchange.error_type == "exceed_context_size_error" or "maximum context length" in exchange.error:
        return Ending.PROMPT_OVERFLOW
    if "does not match the expected" in exchange.error:
        return Ending.TOOL_CALL_UNPARSED
    return None


def _of_reply(exchange: Exchange, limits: AttemptLimits) -> Iterator[EndingRecord]:
    """What a reply itself says, cut or not."""
    if exchange.reasoning and (loop := find_loop(exchange.reasoning)) is not None:
        yield _record(Ending.REASONING_LOOP, exchange, str(loop))
    if exchange.cut is not None:
        return
    if (ending := _of_length(exchange, limits)) is not None:
        loop = find_loop(exchange.content) if ending is Ending.RESPONSE_BUDGET_IN_CONTENT else None
        yield _record(ending, exchange, _progress(exchange) + (f"; {loop}" if loop else ""))
    elif (ending := _of_unusable_reply(exchange)) is not None:
        yield _record(ending, exchange, _progress(exchange))


def _of_length(exchange: Exchange, limits: AttemptLimits) -> Ending | None:
    """Which limit stands behind ``finish_reason: length``, a word servers use for all of them."""
    tokens = completion_tokens(exchange).tokens
    cap = min(limits.response_tokens, int(exchange.request.get("max_tokens", limits.response_tokens)))
    # Some servers say `tool_calls` for a call that the cap has cut.
    if exchange.finish_reason != "length" and not (tokens >= cap and _broken_call(exchange)):
        return None
    if tokens >= cap:
        if exchange.tool_calls:
            return Ending.RESPONSE_BUDGET_IN_TOOL_CALL
        in_content = bool(exchange.content.strip())
        return Ending.RESPONSE_BUDGET_IN_CONTENT if in_content else Ending.RESPONSE_BUDGET_IN_REASONING
    prompt = prompt_tokens(exchange)
    full = limits.context is not None and prompt is not None and prompt + tokens >= limits.context - CONTEXT_SLACK
    return Ending.CONTEXT_FULL if full else Ending.SERVER_LIMIT


_CALL_AS_TEXT = re.compile(r"<tool_call\b|<function[=_]|<\|tool_call|\[TOOL_CALLS\]|<invoke ")


def _of_unusable_reply(exchange: Exchange) -> Ending | None:
    if _broken_call(exchange) or (not exchange.tool_calls and _CALL_AS_TEXT.search(exchange.content)):
        return Ending.TOOL_CALL_UNPARSED
    if exchange.tool_calls or exchange.content.strip():
        return None
    return Ending.TOOL_CALL_IN_REASONING if _CALL_AS_TEXT.search(exchange.reasoning) else Ending.EMPTY_REPLY


def _broken_call(exchange: Exchange) -> bool:
    return any(not _is_object(call.arguments or "{}") or not call.name for call in exchange.tool_calls)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _of_calls(exchanges: Sequence[Exchange]) -> Iterator[EndingRecord]:
    made = [(exchange, call) for exchange in exchanges if exchange.cut is None for call in exchange.tool_calls]
    loop = find_call_loop([(call.name, call.arguments) for _, call in made])
    if loop is not None:
        last = made[loop.start + loop.length - 1][0]
        yield _record(Ending.TOOL_CALL_LOOP, last, f"'{escape(made[loop.start][1].name, 100)}': {loop}")


def _record(ending: Ending, exchange: Exchange, detail: str) -> EndingRecord:
    return EndingRecord(ending, max(0.0, exchange.ended_at), f"request {exchange.number}: {detail}".removesuffix(": "))


def _progress(exchange: Exchange) -> str:
    count = completion_tokens(exchange)
    return f"{count.tokens} tokens" if exchange.sent else ""
