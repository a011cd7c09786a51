"""The recording proxy: the agent's only way out, and the place where limits on the model are kept."""

from __future__ import annotations

import asyncio
import hashlib
import io
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aiohttp import (
    ClientConnectorError,
    ClientError,
    ClientSession,
    ClientTimeout,
    ServerTimeoutError,
    TCPConnector,
    web,
)

from pytest_agentgrade.attempt.exchange import Cut, Exchange
from pytest_agentgrade.attempt.loop_watch import LoopWatch
from pytest_agentgrade.attempt.proxy_flight import CHAT_PATH, Flight, close_client, pass_stream, pass_whole
from pytest_agentgrade.attempt.proxy_limits import MAX_REFUSED, Allowance, Over, loop_in_calls
from pytest_agentgrade.attempt.proxy_log import ExchangeLog
from pytest_agentgrade.attempt.proxy_policy import MAX_BODY_BYTES, BadRequest, ProxyPolicy, count_parts, encode
from pytest_agentgrade.attempt.proxy_socket import serve_unix
from pytest_agentgrade.attempt.server.httpcalls import authorization
from pytest_agentgrade.errors import HostError

_CONNECT_SECONDS = 10.0
_START_SECONDS = 10.0
_STOP_SECONDS = 10.0
_READERS = 4
"""Bodies that are read and taken apart at a time."""


class RecordingProxy:
    """An HTTP server on a unix socket in a thread of its own, in front of one llama.cpp-like server.

    Use as a context manager, one for each attempt. It answers ``/health`` and ``/v1/models`` itself, so that an agent
    sees the same in every mode, and sends on nothing but chat completions, rewritten by the policy. Once a limit of the
    attempt is met every request is answered 404, which makes agents stop instead of trying again.
    """

    def __init__(
        self,
        upstream: str,
        socket_path: Path,
        policy: ProxyPolicy,
        log_path: Path,
        *,
        key: str = "",
        is_auxiliary: Callable[[Mapping[str, Any]], bool] = lambda _request: False,
    ) -> None:
        """``key`` is the server's API key, if it wants one.

        ``is_auxiliary`` tells requests that do not serve the task; they have a turn limit of their own.
        """
        self._upstream = upstream.rstrip("/")
        self._socket_path = socket_path
        self._policy = policy
        self._log_path = log_path
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", **authorization(key)}
        self._key = key
        self._origin = time.monotonic()
        self._exchanges: list[Exchange] = []
        self._is_auxiliary = is_auxiliary
        self._allowance = Allowance(policy)
        self._flights: set[Flight] = set()
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="agentgrade-proxy", daemon=True)

    # ------------------------------------------------------------------ for the owner's thread

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """Ended exchanges, by number."""
        return tuple(sorted(self._exchanges, key=lambda exchange: exchange.number))

    @property
    def requests_seen(self) -> int:
        """Chat completions asked for so far, refused ones included."""
        return self._allowance.seen

    def start_clock(self, started: float, seconds: float) -> None:
        """The task clock runs since ``started`` (``time.monotonic()``), for ``seconds``; times count from there."""
        self._origin = started
        self._loop.call_soon_threadsafe(self._schedule_end, started + seconds)

    def __enter__(self) -> RecordingProxy:
        self._thread.start()
        if not self._ready.wait(_START_SECONDS) or self._failure:
            raise HostError(f"the proxy cannot listen on {self._socket_path}: {self._failure}") from self._failure
        return self

    def __exit__(self, *_exc: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_STOP_SECONDS)
        if self._thread.is_alive():
            raise HostError(f"the proxy on {self._socket_path} did not stop within {_STOP_SECONDS:g} s")
        if self._failure:
            raise HostError(f"the proxy on {self._socket_path} failed: {self._failure}") from self._failure

    # ------------------------------------------------------------------ in the proxy's thread

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_post(CHAT_PATH, self._chat)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/health", self._health)
        self._log = ExchangeLog(self._log_path)
        self._reading = asyncio.Semaphore(_READERS)
        # A connection for each request: closing it is how the server is told to stop generating.
        connector = TCPConnector(force_close=True)
        timeout = ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
        try:
            async with ClientSession(connector=connector, timeout=timeout, auto_decompress=False) as self._session:
                await runner.setup()
                assert runner.server is not None, "made by setup()"
                server = await serve_unix(runner.server, self._socket_path)
                self._ready.set()
                await self._stop.wait()
                server.close()
                await runner.cleanup()
        finally:
            await runner.cleanup()
            self._log.close()
            self._socket_path.unlink(missing_ok=True)

    def _schedule_end(self, deadline: float) -> None:
        over = Over(Cut.DEADLINE, "the task clock has run out")
        self._loop.call_at(deadline, self._end, over)  # the loop's clock is time.monotonic()

    def _end(self, over: Over) -> None:
        """The attempt is over: what is on its way is cut, and nothing more is sent on."""
        self._allowance.over = over
        for flight in self._flights:
            if flight.task is not None and flight.cut is None and not flight.parts.complete:
                flight.failed(*over)
                flight.task.cancel()

    async def _health(self, _request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def _models(self, _request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": self._policy.model, "object": "model"}]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        self._allowance.seen += 1
        if self._allowance.refused_too_often:
            return _error_response(404, "attempt_over", f"{MAX_REFUSED} requests were refused")
        flight = Flight(self._allowance.seen)
        self._flights.add(flight)
        try:
            return await self._fly(request, flight)
        except asyncio.CancelledError:
            if flight.cut not in (Cut.DEADLINE, Cut.LOOP):
                flight.client_left()
                raise
            asyncio.current_task().uncancel()  # type: ignore[union-attr]
            close_client(request)
            return _error_response(404, "attempt_over", flight.parts.error)
        except Exception as error:
            self._failure = error  # a fault of this machine or program: raised in the owner's thread at the end
            raise
        finally:
            self._land(flight)

    def _land(self, flight: Flight) -> None:
        self._flights.discard(flight)
        if flight.upstream is not None:
            flight.upstream.close()
        exchange = flight.frozen(self._origin)
        try:
            self._log.ended(exchange)
        except OSError as error:
            self._failure = error
        self._exchanges.append(exchange)
        if self._policy.abort_loops and self._allowance.over is None and (loop := self._loop_of(exchange)) is not None:
            self._end(Over(Cut.LOOP, loop))

    def _loop_of(self, exchange: Exchange) -> str | None:
        """The loop for which an ended exchange was cut, or that its calls complete."""
        if exchange.cut is Cut.LOOP:
            return exchange.error
        return loop_in_calls(self.exchanges) if exchange.tool_calls else None

    async def _fly(self, request: web.Request, flight: Flight) -> web.StreamResponse:
        try:
            async with self._reading:
                raw = await _read(request)
                flight.requested, flight.wall = time.monotonic(), time.time()
                self._allowance.add_bytes(len(raw))
                body = self._policy.rewrite(raw)
                self._allowance.add_parts(count_parts(body))
                data = encode(body)
            flight.auxiliary = self._serves_no_task(body)
        except (BadRequest, web.HTTPRequestEntityTooLarge) as error:
            flight.failed(Cut.INVALID, str(error))
            return _error_response(getattr(error, "status", 400), "invalid_request_error", flight.parts.error)
        if (over := self._allowance.take(auxiliary=flight.auxiliary)) is not None:
            flight.failed(*over)
            return _error_response(404, "attempt_over", flight.parts.error)
        if self._policy.abort_loops and not flight.auxiliary:
            flight.watch = LoopWatch()
        flight.body, flight.digest = body, hashlib.sha256(data).hexdigest()
        self._log.started(flight.number, flight.wall, flight.digest)
        return await self._send_on(request, flight, data)

    def _serves_no_task(self, body: Mapping[str, Any]) -> bool:
        try:
            return self._is_auxiliary(body)
        except (TypeError, LookupError, AttributeError, ValueError) as error:
            # Looked at for the marks of one agent; this came from something else in its container.
            raise BadRequest(f"this is no request of the agent's: {type(error).__name__}: {error}") from error

    async def _send_on(self, request: web.Request, flight: Flight, data: bytes) -> web.StreamResponse:
        headers = {**self._headers, "Content-Length": str(len(data))}
        try:
            body = io.BytesIO(data)  # aiohttp warns of plain bytes beyond a megabyte
            upstream = await self._session.post(f"{self._upstream}{CHAT_PATH}", data=body, headers=headers)
            flight.upstream, flight.status = upstream, upstream.status
            if upstream.status != 200 or not flight.body["stream"]:
                return await pass_whole(flight, upstream, self._key)
            return await pass_stream(request, flight, upstream)
        except ClientConnectorError as error:
            # Nothing listens any more: the server is gone for good, and 404 makes the agent stop.
            self._allowance.over = Over(Cut.UPSTREAM, "the model server is gone")
            flight.failed(Cut.UPSTREAM, f"the model server is gone: {error}")
            return _error_response(404, "server_gone", flight.parts.error)
        except (ClientError, OSError) as error:
            # It took the request and broke off, headers or not; only a connection that never came says that it is gone.
            unreached = flight.status is None and isinstance(error, ServerTimeoutError)
            flight.failed(Cut.UPSTREAM if unreached else Cut.BROKEN, f"{type(error).__name__}: {error}")
            return _error_response(502, "server_error", flight.parts.error)


async def _read(request: web.Request) -> bytes:
    """The body. Whatever is wrong with it - a broken chunk, a compression that is none - is the client's doing."""
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise
    except Exception as error:
        raise BadRequest(f"the body cannot be read: {type(error).__name__}: {error}") from error


def _error_response(status: int, kind: str, message: str) -> web.Response:
    return web.json_response({"error": {"code": status, "message": message, "type": kind}}, status=status)
