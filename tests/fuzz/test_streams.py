"""What a model server, and an agent's commands, may send: odd replies, never an exception."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentgrade.attempt.agents.base import AgentEnd, AgentRun
from pytest_agentgrade.attempt.agents.output import AgentOutput
from pytest_agentgrade.attempt.agents.toolloop_program import Reply, ServerFailed, sse_chunks
from pytest_agentgrade.attempt.endings import AttemptLimits, classify_endings
from pytest_agentgrade.attempt.exchange import (
    Exchange,
    cached_tokens,
    completion_tokens,
    predicted_ms,
    prompt_tokens,
)
from pytest_agentgrade.attempt.proxy_flight import Flight
from pytest_agentgrade.attempt.proxy_log import ExchangeLog, read_log
from pytest_agentgrade.attempt.proxy_policy import BadRequest, encode
from pytest_agentgrade.attempt.proxy_stream import ReplyParts, StreamReader
from pytest_agentgrade.errors import HostError
from tests.hostile.test_proxy import POLICY

KEYS = st.one_of(
    st.sampled_from(
        ["choices", "delta", "message", "content", "reasoning_content", "tool_calls", "function", "name", "arguments",
         "index", "finish_reason", "usage", "timings", "error", "code", "type", "completion_tokens", "prompt_tokens",
         "predicted_n", "predicted_ms", "prompt_tokens_details", "cached_tokens", "messages", "stream",
         "max_tokens", "tools"]
    ),
    st.text(max_size=3),
)  # fmt: skip
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9), st.just("length")),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=25,
)
DELTAS = st.fixed_dictionaries(
    {}, optional={"content": JSON, "reasoning_content": JSON, "tool_calls": st.one_of(JSON, st.lists(JSON, max_size=2))}
)
CHOICES = st.fixed_dictionaries({}, optional={"delta": st.one_of(DELTAS, JSON), "finish_reason": JSON, "index": JSON})
CHUNKS = st.one_of(
    JSON,
    st.fixed_dictionaries(
        {}, optional={"choices": st.lists(CHOICES, max_size=2), "usage": JSON, "timings": JSON, "error": JSON}
    ),
)
EVENTS = st.one_of(
    CHUNKS.map(lambda chunk: b"data: " + json.dumps(chunk).encode() + b"\n\n"),
    st.sampled_from(
        [b"data: [DONE]\n\n", b": ping\n\n", b"error: {}\n\n", b"data:\n\n", b"\r\n", b"data: {\n\n", b"event: x\n"]
    ),
    st.binary(max_size=30),
)
STREAMS = st.lists(EVENTS, max_size=8).map(b"".join)


def parts_of(data: bytes, step: int) -> ReplyParts:
    parts = ReplyParts()
    reader = StreamReader(parts)
    for at in range(0, len(data), step):
        reader.feed(data[at : at + step])
    return parts


def exchange_of(parts: ReplyParts) -> Exchange:
    flight = Flight.__new__(Flight)  # a new one asks for the running task
    flight.__dict__.update(
        number=1, requested=0.0, wall=0.0, first_byte=None, first_token=None, body={"max_tokens": 9}, digest="",
        status=200, cut=None, parts=parts, task=None, upstream=None, auxiliary=False,
    )  # fmt: skip
    return flight.frozen(0.0)


@given(STREAMS, st.integers(1, 40))
def test_any_stream_is_put_together_however_it_is_cut(data: bytes, step: int) -> None:
    whole, pieces = parts_of(data, len(data) or 1), parts_of(data, step)
    assert vars(whole) == vars(pieces)
    assert whole.error.isprintable() and whole.error_type.isprintable()
    assert (whole.finish_reason or "").isprintable()


@given(STREAMS, st.sampled_from(AgentEnd))
def test_whatever_came_is_recorded_and_classified(data: bytes, ended: AgentEnd) -> None:
    exchange = exchange_of(parts_of(data, len(data) or 1))
    assert Exchange.from_dict(json.loads(json.dumps(exchange.to_dict(), allow_nan=False))) == exchange
    figures = [prompt_tokens(exchange), cached_tokens(exchange), completion_tokens(exchange).tokens]
    assert all(figure is None or 0 <= figure < 2**53 for figure in figures)
    assert (predicted_ms(exchange) or 0.0) < float("inf")
    run = AgentRun("a", "1", ended, 0, False, 0.0, 0.0, 1.0)
    endings = classify_endings([exchange], run, (), (), AttemptLimits(9, 100, 5.0, 3))
    assert all(record.detail.isprintable() for record in endings.records)


@given(STREAMS)
def test_the_built_in_agent_survives_any_stream(data: bytes) -> None:
    reply = Reply()
    with suppress(ServerFailed):
        for chunk in sse_chunks(iter(data.splitlines(keepends=True))):
            reply.add(chunk)


@given(st.one_of(st.binary(max_size=60), JSON.map(lambda body: json.dumps(body).encode())))
def test_any_request_is_rewritten_or_refused(raw: bytes) -> None:
    try:
        body = POLICY.rewrite(raw)
        sent = json.loads(encode(body))
    except BadRequest as refusal:
        assert str(refusal)
        return
    assert sent["seed"] == POLICY.seed and 0 < sent["max_tokens"] <= POLICY.response_tokens
    assert sent["cache_prompt"] is False and sent["n"] == 1


@given(
    st.lists(st.one_of(st.binary(max_size=40), JSON.map(lambda body: json.dumps(body).encode() + b"\n")), max_size=6)
)
def test_any_output_of_an_agent_is_taken(pieces: list[bytes]) -> None:
    output = AgentOutput()
    for piece in pieces:
        output.add(piece)
    for event in output.events:
        assert all(key.isprintable() for key in event.data)
        assert all(value.isprintable() for value in event.data.values() if isinstance(value, str))


@given(st.lists(st.one_of(st.binary(max_size=30), JSON.map(lambda body: json.dumps(body).encode())), max_size=5))
def test_any_journal_is_read_or_named(tmp_path: Path, lines: list[bytes]) -> None:
    path = tmp_path / "exchanges.jsonl"
    path.write_bytes(b"\n".join(lines))
    with suppress(HostError):
        read_log(path)


@given(STREAMS)
def test_a_journal_gives_back_what_was_written(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "log"
    path.unlink(missing_ok=True)
    log = ExchangeLog(path)
    exchange: Any = exchange_of(parts_of(data, len(data) or 1))
    log.ended(exchange)
    log.close()
    assert read_log(path) == (exchange,)
