"""The proxy as an agent's commands may treat it: nothing gets past it, nothing breaks it, nothing goes uncounted."""

from __future__ import annotations

import gzip
import json
import resource
import socket
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_agentgrade.attempt import proxy_limits
from pytest_agentgrade.attempt.exchange import Cut
from pytest_agentgrade.attempt.proxy import RecordingProxy
from pytest_agentgrade.attempt.proxy_flight import CHAT_PATH
from pytest_agentgrade.attempt.proxy_limits import MAX_REFUSED
from pytest_agentgrade.attempt.proxy_log import read_log
from pytest_agentgrade.attempt.proxy_policy import MAX_BODY_BYTES, ProxyPolicy
from pytest_agentgrade.attempt.proxy_stream import ReplyParts
from tests.scripted_server import Say, ScriptedServer, in_turn

POLICY = ProxyPolicy(
    seed=1, temperature=1.0, top_p=0.95, top_k=20, min_p=0.0, response_tokens=100, max_turns=10
)  # fmt: skip
GOOD = json.dumps({"messages": [{"role": "user", "content": "Hello."}]}).encode()


class Rig:
    """A server, the proxy before it, and raw bytes to the proxy's socket."""

    def __init__(self, server: ScriptedServer, proxy: RecordingProxy, socket_path: Path, log: Path) -> None:
        self.server, self.proxy, self.socket_path, self.log = server, proxy, socket_path, log

    def open(self) -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(10)
        try:
            client.connect(str(self.socket_path))
        except OSError:
            client.close()
            raise
        return client

    def say(self, *pieces: bytes) -> bytes:
        """What comes back for raw bytes, up to the end of the connection."""
        received = b""
        with self.open() as client, suppress(ConnectionError):
            for piece in pieces:
                client.sendall(piece)
            client.shutdown(socket.SHUT_WR)
            while data := client.recv(65_536):
                received += data
        return received

    def post(self, body: bytes, *headers: str, path: str = CHAT_PATH, method: str = "POST") -> int:
        head = [f"{method} {path} HTTP/1.1", "Host: x", "Connection: close", f"Content-Length: {len(body)}", *headers]
        with self.open() as client:
            with suppress(ConnectionError):
                client.sendall("\r\n".join([*head, "", ""]).encode() + body)
            line = client.recv(65_536).split(b"\r\n")[0]
        return int(line.split()[1])


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with ScriptedServer(in_turn(Say(content="Hello."))) as server:
        log = tmp_path / "exchanges.jsonl"
        with RecordingProxy(server.url, tmp_path / "proxy.sock", POLICY, log) as proxy:
            it = Rig(server, proxy, tmp_path / "proxy.sock", log)
            yield it
            # Whatever a test did: the next request works, and everything the server saw is on record.
            assert it.post(GOOD) in (200, 404)
        sent = [exchange for exchange in proxy.exchanges if exchange.sent]
        assert len(sent) >= len(server.requests)
        assert len(read_log(log)) == len(proxy.exchanges)


@pytest.mark.parametrize(
    "path",
    [
        "/", "/slots", "/props", "/metrics", "/completion", "/v1/embeddings", "/v1/chat/completions/", "/v1/../slots",
        "//v1/chat/completions", "/v1/%2e%2e/slots", "/v1/chat%2fcompletions", "/health", "/v1/models",
        "http://127.0.0.1:1/slots", "*", "/slots?x=/v1/chat/completions",
    ],
)  # fmt: skip
def test_other_paths_are_refused(rig: Rig, path: str) -> None:
    assert rig.post(GOOD, path=path) in (400, 404, 405)
    assert rig.server.requests == []


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "OPTIONS", "HEAD", "BREW"])
def test_other_methods_are_refused(rig: Rig, method: str) -> None:
    assert rig.post(b"", method=method) in (400, 404, 405)
    assert rig.server.requests == []


def nested(depth: int) -> bytes:
    return b'{"messages":[%s%s]}' % (b"[" * depth, b"]" * depth)


BODIES = {
    "no_json": b"\xff\xfe\x00",
    "no_object": b"[]",
    "no_messages": b"{}",
    "nan": b'{"messages":[],"tools":[NaN]}',
    "huge_number": b'{"messages":[%s]}' % (b"9" * 5_000),
    "deep": nested(400),
    "deeper": nested(100_000),
    "many_parts": b'{"messages":[%s0]}' % (b"[]," * 1_000_000),
    "stream_of_odd_type": b'{"messages":[],"stream":"yes"}',
    "too_large": b'{"messages":["%s"]}' % (b"x" * MAX_BODY_BYTES),
}


@pytest.mark.parametrize("name", BODIES)
def test_odd_bodies_are_refused_and_recorded(rig: Rig, name: str) -> None:
    assert rig.post(BODIES[name]) in (400, 413)
    assert rig.server.requests == []
    (exchange,) = rig.proxy.exchanges
    assert exchange.cut is Cut.INVALID and not exchange.sent


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", b"no gzip at all"),
        ("deflate", b"\x00\x01"),
        ("gzip", gzip.compress(GOOD)[:-9]),
        ("gzip", gzip.compress(b" " * (256 << 20), 1)),
        ("deflate", zlib.compress(b" " * (256 << 20), 1)),
        ("br", b"\x00"),
        ("x-unknown", GOOD),
    ],
    ids=["garbage", "garbage_deflate", "cut", "bomb", "bomb_deflate", "other", "unknown"],
)
def test_compressed_bodies_break_nothing(rig: Rig, encoding: str, body: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rig.say(
        f"POST {CHAT_PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Encoding: {encoding}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000
    assert len(rig.server.requests) <= 1


HEAD = f"POST {CHAT_PATH} HTTP/1.1\r\nHost: x\r\n".encode()
RAW = {
    "nothing": b"",
    "no_http": b"\x16\x03\x01\x00\xff" * 100,
    "only_a_head": HEAD,
    "body_cut": HEAD + b"Content-Length: 500\r\n\r\n{",
    "two_lengths": HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + GOOD,
    "length_below_zero": HEAD + b"Content-Length: -5\r\n\r\n" + GOOD,
    "length_and_chunks": HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "odd_chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + GOOD,
    "chunk_cut": HEAD + b"Transfer-Encoding: chunked\r\n\r\nff\r\n{",
    "huge_chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{",
    "huge_header": HEAD + b"X: " + b"x" * 200_000 + b"\r\n\r\n",
    "many_headers": HEAD + b"X: x\r\n" * 50_000 + b"\r\n",
    "smuggled": b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\nPOST /slots HTTP/1.1\r\nHost: x\r\n\r\n"
    + b"x" * 20,
    "upgrade": HEAD + b"Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n",
    "expect": HEAD + b"Expect: 200-ok\r\nContent-Length: 2\r\n\r\n{}",
    "line_feed_in_header": HEAD + b"X: a\n\tb\r\nContent-Length: 2\r\n\r\n{}",
}


@pytest.mark.parametrize("name", RAW)
def test_odd_bytes_break_nothing(rig: Rig, name: str) -> None:
    rig.say(RAW[name])
    assert rig.server.requests == []


def test_a_crowd_of_connections_is_bounded(rig: Rig) -> None:
    """An agent may open as many as its container lets it; what they cost this process has a limit."""
    before = _open_files()
    crowd = []
    try:
        for _ in range(400):
            with suppress(OSError):
                crowd.append(rig.open())
        time.sleep(1.0)
        # Both ends are in this process here: 400 of ours, and what the proxy took.
        assert _open_files() - before - len(crowd) < 150
    finally:
        for client in crowd:
            client.close()
    time.sleep(0.2)


def test_requests_that_are_refused_do_not_fill_memory_or_disk(rig: Rig) -> None:
    for _ in range(MAX_REFUSED + 100):
        rig.post(b"{}")
    assert rig.proxy.requests_seen == MAX_REFUSED + 100
    assert len(rig.proxy.exchanges) == MAX_REFUSED
    assert rig.log.stat().st_size < 2 << 20


def test_large_bodies_are_bounded_in_sum(rig: Rig) -> None:
    body = b'{"messages":[{"role":"user","content":"%s"}]}' % (b"x" * (MAX_BODY_BYTES - 100))
    statuses = [rig.post(body) for _ in range(9)]
    assert statuses[0] == 200 and statuses[-1] == 404


def test_small_values_are_bounded_in_sum(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty list is three bytes of a body and seventy of this process."""
    monkeypatch.setattr(proxy_limits, "MAX_REQUEST_PARTS", 30_000)
    body = b'{"messages":[{"role":"user","content":[%s0]}]}' % (b"[]," * 14_000)
    assert [rig.post(body) for _ in range(4)] == [200, 200, 404, 404]
    assert rig.proxy.exchanges[-1].error == "the attempt's requests have more than 30000 values"


def test_a_request_that_its_own_agent_cannot_read_is_refused(tmp_path: Path) -> None:
    """The agent's plugin looks for its marks in whatever its container sends."""
    with ScriptedServer(in_turn(Say(content="Hello."))) as server:
        path = tmp_path / "proxy.sock"
        with RecordingProxy(
            server.url,
            path,
            POLICY,
            tmp_path / "log",
            is_auxiliary=lambda request: request["messages"][0]["content"][99],
        ) as proxy:
            assert Rig(server, proxy, path, tmp_path / "log").post(GOOD) == 400
        assert server.requests == [] and proxy.exchanges[0].cut is Cut.INVALID


def test_figures_of_a_server_are_finite_and_flat() -> None:
    parts = ReplyParts()
    odd = {"predicted_n": 5, "predicted_ms": float("nan"), "prompt_n": 10**30, "deep": {"a": {"b": 1}, "c": 2}, "x": []}
    parts.add({"timings": odd, "usage": {"completion_tokens": True, "\x1b": "\x1b"}})
    assert parts.timings == {"predicted_n": 5, "deep": {"c": 2}}
    assert parts.usage == {"completion_tokens": True, "\\x1b": "\\x1b"}


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
