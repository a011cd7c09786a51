"""One exchange on its way through the proxy, and how a reply is passed on while it is put together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import ClientError, ClientResponse, web

from pytest_agentgrade.assignment.secrets import hide_in_bytes
from pytest_agentgrade.attempt.exchange import Cut, Exchange
from pytest_agentgrade.attempt.loop_watch import LoopWatch
from pytest_agentgrade.attempt.proxy_stream import ReplyParts, StreamReader
from pytest_agentgrade.escaping import escape

CHAT_PATH = "/v1/chat/completions"


class Flight:
    """One exchange in the making; times are monotonic until it is frozen."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.requested, self.wall = time.monotonic(), time.time()
        self.first_byte: float | None = None
        self.first_token: float | None = None
        self.body: dict[str, Any] = {}
        self.digest = ""
        self.auxiliary = False
        self.status: int | None = None
        self.cut: Cut | None = None
        self.parts = ReplyParts()
        self.task: asyncio.Task[Any] | None = asyncio.current_task()
        self.upstream: ClientResponse | None = None
        self.watch: LoopWatch | None = None
        """Cuts a stream that goes round in circles; None where none is cut."""

    def failed(self, cut: Cut, text: str) -> None:
        """The first trouble is the one that counts."""
        self.cut = self.cut or cut
        self.parts.error = self.parts.error or escape(text, 1_000)

    def look_for_loop(self) -> None:
        """Cut the reply where it is watched and found to go round in circles."""
        if self.watch is None or self.parts.complete:
            return
        if (loop := self.watch.look(self.parts, self.parts.characters)) is not None:
            self.failed(Cut.LOOP, loop)

    def client_left(self) -> None:
        """The agent closed the connection: no cut when the reply was whole, or had failed by itself, before that."""
        if not self.parts.complete:
            self.failed(Cut.BROKEN if self.parts.error else Cut.CLIENT, "the agent closed the connection")

    def frozen(self, origin: float) -> Exchange:
        """The exchange, ended now."""
        parts, first_byte, first_token = self.parts, self.first_byte, self.first_token
        return Exchange(
            number=self.number,
            path=CHAT_PATH,
            requested_at=self.requested - origin,
            ended_at=time.monotonic() - origin,
            request_digest=self.digest,
            request=self.body,
            first_byte_at=None if first_byte is None else first_byte - origin,
            first_token_at=None if first_token is None else first_token - origin,
            wall_started=self.wall,
            status=self.status,
            content=parts.content,
            reasoning=parts.reasoning,
            tool_calls=parts.tool_calls,
            finish_reason=parts.finish_reason,
            usage=parts.usage,
            timings=parts.timings,
            deltas=parts.deltas,
            error=parts.error,
            error_type=parts.error_type,
            cut=self.cut,
            auxiliary=self.auxiliary,
        )


async def pass_whole(flight: Flight, upstream: ClientResponse, key: str) -> web.Response:
    """Pass on a reply that is one body: an error, or a completion that is not streamed.

    A server may repeat the ``key`` that it does not accept: that is neither recorded nor the agent's business.
    """
    payload = await upstream.read()
    if upstream.status != 200 and key:
        payload = hide_in_bytes(payload, [key])
    flight.first_byte = flight.first_token = time.monotonic()
    reader = StreamReader(flight.parts)
    reader.feed(b"data: " + payload.replace(b"\n", b" ") + b"\n")
    if upstream.status != 200:
        flight.first_token = None
        flight.failed(Cut.UPSTREAM, f"HTTP {upstream.status}")
    elif not flight.parts.complete:
        flight.failed(Cut.BROKEN, "the reply is no chat completion")
    kind = upstream.content_type or "application/json"
    return web.Response(status=upstream.status, body=payload, content_type=kind)


async def pass_stream(request: web.Request, flight: Flight, upstream: ClientResponse) -> web.StreamResponse:
    """Pass on a stream as it comes, first to the client, then to the record."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    reader = StreamReader(flight.parts)
    try:
        await response.prepare(request)
        async for data in _pieces(upstream, flight):
            await response.write(data)
            flight.first_byte = flight.first_byte or time.monotonic()
            reader.feed(data)
            if flight.parts.deltas and flight.first_token is None:
                flight.first_token = time.monotonic()
            flight.look_for_loop()
        if flight.cut is Cut.LOOP:
            close_client(request)
        elif not flight.parts.complete:
            server_told = flight.parts.error and flight.cut is None
            if not server_told:
                close_client(request)  # without the end that a complete reply has, as the server did
            flight.failed(Cut.BROKEN, "the stream ended before the reply was complete")
    except ConnectionResetError:
        flight.client_left()
    return response


async def _pieces(upstream: ClientResponse, flight: Flight) -> AsyncIterator[bytes]:
    """The upstream's bytes until the reply is cut; trouble on that side is noted, and only the client's is raised."""
    try:
        async for data in upstream.content.iter_any():
            yield data
            if flight.cut is Cut.LOOP:
                return
    except (ClientError, OSError) as error:
        if not flight.parts.complete:
            flight.failed(Cut.BROKEN, f"{type(error).__name__}: {error}")


def close_client(request: web.Request) -> None:
    """Close the client's connection behind what was written so far."""
    if request.transport is not None:
        request.transport.close()
