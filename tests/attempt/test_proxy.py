"""The recording proxy, with a real unix socket and a real server behind it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_agentgrade.attempt.exchange import (
    Cut,
    Exchange,
    accepted_tokens,
    cached_tokens,
    completion_tokens,
    drafted_tokens,
    predicted_ms,
    prompt_tokens,
)
from pytest_agentgrade.attempt.proxy import RecordingProxy
from pytest_agentgrade.attempt.proxy_flight import CHAT_PATH
from pytest_agentgrade.attempt.proxy_log import read_log
from pytest_agentgrade.attempt.proxy_policy import ProxyPolicy
from pytest_agentgrade.attempt.speeds import loops
from pytest_agentgrade.errors import HostError
from tests.scripted_server import LOOP, SCRIPTS, Call, Say, Script, ScriptedServer, in_turn, use

MESSAGES = [{"role": "user", "content": "Fix the cache."}]


def policy(**changes: Any) -> ProxyPolicy:
    values: dict[str, Any] = {
        "seed": 4242, "temperature": 1.0, "top_p": 0.95, "top_k": 20, "min_p": 0.0,
        "response_tokens": 100, "max_turns": 10,
    }  # fmt: skip
    return ProxyPolicy(**{**values, **changes})


class Client(http.client.HTTPConnection):
    """An HTTP connection over a unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("proxy", timeout=20)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(str(self._path))


class Rig:
    """Server, proxy and a way to ask."""

    def __init__(self, server: ScriptedServer, proxy: RecordingProxy, folder: Path) -> None:
        self.server, self.proxy, self.folder = server, proxy, folder

    def client(self) -> Client:
        return Client(self.folder / "proxy.sock")

    def post(self, body: object = None, headers: dict[str, str] | None = None, **extra: Any) -> tuple[int, bytes]:
        client = self.client()
        data = body if isinstance(body, bytes) else json.dumps({"messages": MESSAGES, **extra}).encode()
        client.request("POST", CHAT_PATH, data, {"Content-Type": "application/json", **(headers or {})})
        response = client.getresponse()
        try:
            return response.status, response.read()
        finally:
            client.close()

    def wait_for(self, count: int) -> tuple[Exchange, ...]:
        """The exchanges, once so many have ended."""
        end = time.monotonic() + 10
        while len(self.proxy.exchanges) < count and time.monotonic() < end:
            time.sleep(0.01)
        assert len(self.proxy.exchanges) == count
        return self.proxy.exchanges


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    @contextmanager
    def make(script: Script, the_policy: ProxyPolicy | None = None, **server_options: Any) -> Iterator[Rig]:
        with (
            ScriptedServer(script, **server_options) as server,
            RecordingProxy(
                server.url, tmp_path / "proxy.sock", the_policy or policy(), tmp_path / "exchanges.jsonl"
            ) as proxy,
        ):
            yield Rig(server, proxy, tmp_path)

    yield make


def chunks(data: bytes) -> list[dict[str, Any]]:
    lines = [line[6:] for line in data.split(b"\n") if line.startswith(b"data: ")]
    return [json.loads(line) for line in lines if line != b"[DONE]"]


def test_a_stream_is_passed_on_and_put_together(rig: Callable[..., Any]) -> None:
    said = Say(reasoning="Let me look.", content="I write.", calls=(Call("write_file", {"path": "a", "content": "é"}),))
    with rig(in_turn(said), drafts=True) as it:
        status, data = it.post(stream=True)
        (exchange,) = it.wait_for(1)
    assert status == 200
    assert data.endswith(b"data: [DONE]\n\n")
    assert "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks(data) if c["choices"]) == "I write."
    assert exchange.reasoning == "Let me look."
    assert exchange.content == "I write."
    assert [(call.name, json.loads(call.arguments)) for call in exchange.tool_calls] == [
        ("write_file", {"path": "a", "content": "é"})
    ]
    assert exchange.finish_reason == "tool_calls"
    assert exchange.cut is None
    assert exchange.deltas == exchange.usage["completion_tokens"] == completion_tokens(exchange).tokens
    assert cached_tokens(exchange) == 0
    assert prompt_tokens(exchange) == exchange.timings["prompt_n"]
    assert (drafted_tokens(exchange), accepted_tokens(exchange)) == (exchange.deltas, exchange.deltas * 3 // 4)
    assert 0 <= exchange.requested_at <= exchange.first_byte_at <= exchange.first_token_at <= exchange.ended_at


def test_a_client_that_does_not_stream_gets_one_body(rig: Callable[..., Any]) -> None:
    with rig(in_turn(use("list_files", path="."))) as it:
        status, data = it.post()
        (exchange,) = it.wait_for(1)
    assert status == 200
    assert json.loads(data)["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "list_files"
    assert exchange.tool_calls[0].name == "list_files"
    assert completion_tokens(exchange).source == "usage"
    assert drafted_tokens(exchange) is None
    assert predicted_ms(exchange) is not None


def test_what_the_server_gets_is_decided_by_the_policy(rig: Callable[..., Any]) -> None:
    wishes = {
        "model": "gpt", "seed": 1, "temperature": 0.0, "top_p": 0.1, "min_p": 0.4, "cache_prompt": True, "id_slot": 3,
        "n": 4, "n_predict": 50, "max_completion_tokens": 5_000, "logprobs": True, "repeat_penalty": 1.3,
        "tools": [], "stream": True,
    }  # fmt: skip
    thinking = {"reasoning_effort": "medium"}
    with rig(in_turn(Say("ok")), policy(thinking=thinking)) as it:
        it.post(headers={"X-Conversation-Id": "1", "Authorization": "Bearer x", "User-Agent": "agent"}, **wishes)
        (exchange,) = it.wait_for(1)
    (body,), (headers,) = it.server.requests, it.server.headers
    assert body == {
        "model": "local", "messages": MESSAGES, "tools": [], "stream": True, "stream_options": {"include_usage": True},
        "seed": 4242, "temperature": 1.0, "top_p": 0.95, "top_k": 20, "min_p": 0.0, "n": 1, "cache_prompt": False,
        "timings_per_token": True, "repeat_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0,
        "reasoning_effort": "medium", "max_tokens": 50,
    }  # fmt: skip
    assert exchange.request == body
    assert not {"X-Conversation-Id", "Authorization"} & set(headers)


@pytest.mark.parametrize(("wish", "cap"), [({}, 100), ({"max_tokens": 9_999}, 100), ({"n_predict": -1}, 100),
                                           ({"max_completion_tokens": 7, "max_tokens": 30}, 7)])  # fmt: skip
def test_the_token_cap_is_the_smaller_one(wish: dict[str, int], cap: int) -> None:
    assert policy().rewrite(json.dumps({"messages": [], **wish}).encode())["max_tokens"] == cap


def test_equal_requests_have_equal_digests(rig: Callable[..., Any]) -> None:
    with rig(in_turn(Say("ok"))) as it:
        it.post(stream=True)
        it.post(stream=True, seed=7, user="someone")
        it.post(stream=True, tools=[])
        first, second, third = it.wait_for(3)
    assert first.request_digest == second.request_digest != third.request_digest


def test_the_agent_sees_the_same_in_every_mode(rig: Callable[..., Any]) -> None:
    with rig(in_turn(Say("ok")), drafts=True) as it:
        answers = {}
        for path in ("/health", "/v1/models", "/props", "/slots", "/metrics", "/v1/completions"):
            client = it.client()
            client.request("GET", path)
            response = client.getresponse()
            answers[path] = (response.status, response.read())
            client.close()
        client = it.client()
        client.request("GET", CHAT_PATH)
        assert client.getresponse().status == 405
        client.close()
    assert answers["/health"] == (200, b'{"status": "ok"}')
    assert json.loads(answers["/v1/models"][1])["data"] == [{"id": "local", "object": "model"}]
    assert {answers[path][0] for path in ("/props", "/slots", "/metrics", "/v1/completions")} == {404}


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"messages": [], "stream": "yes"}', b'{"messages": [NaN]}',
                                  b'{"messages":' + b"[" * 100_000])  # fmt: skip
def test_a_request_that_is_none_is_refused_and_recorded(rig: Callable[..., Any], body: bytes) -> None:
    with rig(in_turn(Say("ok"))) as it:
        status, answer = it.post(body)
        (exchange,) = it.wait_for(1)
    assert status == 400
    assert json.loads(answer)["error"]["type"] == "invalid_request_error"
    assert exchange.cut is Cut.INVALID
    assert not exchange.sent
    assert it.server.requests == []


def test_a_body_of_nine_megabytes_is_refused(rig: Callable[..., Any]) -> None:
    with rig(in_turn(Say("ok"))) as it:
        status, _ = it.post(b'{"messages": ["' + b"x" * 9_000_000 + b'"]}')
        (exchange,) = it.wait_for(1)
    assert (status, exchange.cut) == (413, Cut.INVALID)


@pytest.mark.parametrize("stream", [True, False])
def test_a_server_that_drops_a_connection_and_lives_on_is_not_gone(rig: Callable[..., Any], stream: bool) -> None:
    """Without a stream not even the headers have come."""
    with rig(in_turn(Say("never whole", drop_after=2))) as it:
        for number in (1, 2):
            with suppress(http.client.IncompleteRead, ConnectionError):
                assert it.post(stream=stream)[0] == 502
            assert it.wait_for(number)[-1].cut is Cut.BROKEN
        assert len(it.server.requests) == 2, "it was asked again"


def test_auxiliary_requests_are_marked_and_use_up_no_turn(tmp_path: Path) -> None:
    def is_title(request: Mapping[str, Any]) -> bool:
        return bool(request["messages"][0]["content"] == "Title?")

    title, socket_path = [{"role": "user", "content": "Title?"}], tmp_path / "proxy.sock"
    with (
        ScriptedServer(in_turn(Say("ok"))) as server,
        RecordingProxy(server.url, socket_path, policy(max_turns=1), tmp_path / "log", is_auxiliary=is_title) as proxy,
    ):
        it = Rig(server, proxy, tmp_path)
        statuses = [it.post(messages=messages)[0] for messages in (MESSAGES, title, title, MESSAGES, title)]
        assert statuses == [200, 200, 404, 404, 404], "the last turn of the task refuses nothing beside it"
        marks = [False, True, True, False, True]
        assert [exchange.auxiliary for exchange in it.wait_for(5)] == marks
    assert [exchange.auxiliary for exchange in read_log(tmp_path / "log")] == marks


def test_after_the_last_turn_every_request_is_404(rig: Callable[..., Any]) -> None:
    with rig(in_turn(Say("ok")), policy(max_turns=2)) as it:
        statuses = [it.post(stream=True)[0] for _ in range(4)]
        exchanges = it.wait_for(4)
        assert it.proxy.requests_seen == 4
    assert statuses == [200, 200, 404, 404]
    assert [exchange.cut for exchange in exchanges] == [None, None, Cut.REFUSED, Cut.REFUSED]
    assert len(it.server.requests) == 2


@pytest.mark.parametrize("stream", [True, False])
def test_the_deadline_cuts_the_reply_and_stops_the_server(rig: Callable[..., Any], stream: bool) -> None:
    with rig(in_turn(Say(content=LOOP * 50, tokens_per_second=50)), policy(response_tokens=10_000)) as it:
        it.proxy.start_clock(time.monotonic(), 0.6)
        with pytest.raises((http.client.IncompleteRead, ConnectionError, http.client.RemoteDisconnected)):
            it.post(stream=stream)
        assert it.server.wait_for_disconnects(1)
        assert it.post(stream=True)[0] == 404
        cut, refused = it.wait_for(2)
    assert (cut.cut, refused.cut) == (Cut.DEADLINE, Cut.DEADLINE)
    assert (cut.sent, refused.sent) == (True, False)
    assert 0.5 <= cut.ended_at <= 3.0
    if stream:
        count = completion_tokens(cut)
        assert count.source == "timings"
        assert count.tokens == cut.deltas > 3
        assert LOOP.startswith(cut.content[:20])


def test_the_deadline_cuts_a_prompt_that_is_still_processed(rig: Callable[..., Any]) -> None:
    with rig(in_turn(Say(content="late", prompt_seconds=30))) as it:
        it.proxy.start_clock(time.monotonic(), 0.3)
        with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
            it.post(stream=True)
        assert it.server.wait_for_disconnects(1)
        (exchange,) = it.wait_for(1)
    assert (exchange.cut, exchange.status, exchange.first_token_at) == (Cut.DEADLINE, None, None)


@pytest.mark.parametrize("say", [Say(LOOP * 50, tokens_per_second=50), Say("late", prompt_seconds=30)])
def test_a_client_that_leaves_stops_the_server_at_once(rig: Callable[..., Any], say: Say) -> None:
    with rig(in_turn(say), policy(response_tokens=10_000)) as it:
        client = it.client()
        client.request("POST", CHAT_PATH, json.dumps({"messages": MESSAGES, "stream": True}).encode())
        time.sleep(0.3)
        client.close()
        assert it.server.wait_for_disconnects(1)
        (exchange,) = it.wait_for(1)
    assert exchange.cut is Cut.CLIENT


@pytest.mark.parametrize(("error_after", "cut"), [(None, None), (5, Cut.BROKEN)])
def test_a_client_that_leaves_after_the_last_event_has_cut_nothing(
    rig: Callable[..., Any], error_after: int | None, cut: Cut | None
) -> None:
    with rig(in_turn(Say("word " * 9, error_after=error_after, end_seconds=30))) as it:
        client = it.client()
        client.request("POST", CHAT_PATH, json.dumps({"messages": MESSAGES, "stream": True}).encode())
        response = client.getresponse()
        while response.readline().strip() != b"data: [DONE]":
            pass
        response.close()
        client.close()
        (exchange,) = it.wait_for(1)
    assert exchange.cut is cut


def test_the_deadline_does_not_cut_what_is_complete(rig: Callable[..., Any]) -> None:
    with rig(in_turn(Say("word " * 9, end_seconds=1.0))) as it:
        it.proxy.start_clock(time.monotonic(), 0.5)
        assert it.post(stream=True)[1].endswith(b"data: [DONE]\n\n")
        (exchange,) = it.wait_for(1)
    assert (exchange.cut, exchange.content) == (None, "word " * 9)


def test_a_dropped_stream_reaches_the_client_as_a_dropped_stream(rig: Callable[..., Any]) -> None:
    with rig(in_turn(Say(LOOP, drop_after=5))) as it:
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            it.post(stream=True)
        (exchange,) = it.wait_for(1)
    assert exchange.cut is Cut.BROKEN
    assert exchange.deltas == 5
    assert completion_tokens(exchange) == (5, "timings")


def test_an_error_inside_a_stream_reaches_the_client_as_such(rig: Callable[..., Any]) -> None:
    with rig(in_turn(Say(LOOP, error_after=5))) as it:
        status, data = it.post(stream=True)
        (exchange,) = it.wait_for(1)
    assert status == 200
    assert chunks(data)[-1]["error"]["message"] == "failed to decode the batch"
    assert (exchange.cut, exchange.error) == (Cut.BROKEN, "failed to decode the batch")


def test_a_prompt_that_is_too_long_is_passed_through(rig: Callable[..., Any]) -> None:
    with rig(lambda _: SCRIPTS["overflow"](_with_step(_, 1))) as it:
        status, data = it.post(stream=True)
        (exchange,) = it.wait_for(1)
    assert status == 400
    assert json.loads(data)["error"]["n_ctx"] == 32_768
    assert (exchange.cut, exchange.status, exchange.error_type) == (Cut.UPSTREAM, 400, "exceed_context_size_error")


def _with_step(conversation: Any, step: int) -> Any:
    return type(conversation)(step, conversation.task, conversation.body)


def test_a_dead_server_is_told_by_404(rig: Callable[..., Any]) -> None:
    with rig(in_turn(Say(LOOP, die_after=5))) as it:
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            it.post(stream=True)
        statuses = [it.post(stream=True)[0] for _ in range(2)]
        broken, gone, after = it.wait_for(3)
    assert statuses == [404, 404]
    assert (broken.cut, gone.cut, after.cut) == (Cut.BROKEN, Cut.UPSTREAM, Cut.UPSTREAM)
    assert "gone" in gone.error


def test_the_journal_has_every_ended_exchange_even_when_its_last_line_is_cut(rig: Callable[..., Any]) -> None:
    with rig(in_turn(use("list_files"))) as it:
        it.post(stream=True)
        it.post(stream=False)
        exchanges = it.wait_for(2)
        log = it.folder / "exchanges.jsonl"
        assert read_log(log) == exchanges  # on disk already, while the proxy still runs
    with log.open("ab") as journal:
        journal.write(b'{"kind":"exchange","numb')
    assert read_log(log) == exchanges
    assert [exchange.finish_reason for exchange in read_log(log)] == ["tool_calls", "tool_calls"]
    with log.open("ab") as journal:
        journal.write(b"\n")
    with pytest.raises(HostError, match="line 5"):
        read_log(log)


def test_times_count_from_the_start_of_the_clock(rig: Callable[..., Any]) -> None:
    with rig(in_turn(Say("ok"))) as it:
        it.proxy.start_clock(time.monotonic() - 100.0, 480.0)
        it.post(stream=True)
        (exchange,) = it.wait_for(1)
    assert 100.0 <= exchange.requested_at < 105.0


@pytest.mark.parametrize(
    "say", [Say(reasoning=LOOP * 900), Say(content=LOOP * 900), Say(calls=(Call("write_file", "x = 1\n" * 9_000),))]
)
def test_a_loop_is_cut_where_that_is_asked_for_and_the_attempt_is_over(rig: Callable[..., Any], say: Say) -> None:
    slowed = replace(say, tokens_per_second=3_000)
    with rig(in_turn(slowed), policy(response_tokens=20_000, abort_loops=True)) as it:
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            it.post(stream=True)
        assert it.server.wait_for_disconnects(1), "the server is told to stop"
        assert it.post(stream=True)[0] == 404
        cut, refused = it.wait_for(2)
    assert (cut.cut, cut.sent, refused.cut, refused.sent) == (Cut.LOOP, True, Cut.LOOP, False)
    assert "round in circles" in cut.error and refused.error == cut.error
    assert cut.finish_reason is None and cut.usage is None
    assert 300 < completion_tokens(cut).tokens < 1_500
    assert loops(cut), "the same is found in the record"
    assert read_log(it.folder / "exchanges.jsonl") == (cut, refused)


def test_a_loop_runs_to_the_cap_where_nothing_was_asked_for(rig: Callable[..., Any]) -> None:
    with rig(in_turn(Say(reasoning=LOOP * 900)), policy(response_tokens=3_000)) as it:
        assert it.post(stream=True)[0] == it.post(stream=True)[0] == 200
        exchanges = it.wait_for(2)
    assert [(e.cut, e.finish_reason, completion_tokens(e).tokens) for e in exchanges] == [(None, "length", 3_000)] * 2
    assert loops(exchanges[0])


def test_an_ordinary_reply_is_not_cut(rig: Callable[..., Any]) -> None:
    text = (Path(http.client.__file__).read_text() + Path(socket.__file__).read_text())[:40_000]
    with rig(in_turn(Say(reasoning=text, content=text)), policy(response_tokens=99_999, abort_loops=True)) as it:
        assert it.post(stream=True)[1].endswith(b"data: [DONE]\n\n")
        (exchange,) = it.wait_for(1)
    assert (exchange.cut, exchange.reasoning, exchange.content) == (None, text, text)


def test_what_runs_beside_a_loop_is_cut_with_it(rig: Callable[..., Any]) -> None:
    def script(conversation: Any) -> Say:
        return Say(reasoning=LOOP * 900) if conversation.task == "loop" else Say("late", prompt_seconds=30)

    with rig(script, policy(response_tokens=20_000, abort_loops=True)) as it:
        clients = [it.client() for _ in range(2)]
        for client, task in zip(clients, ("wait", "loop"), strict=True):
            body = {"messages": [{"role": "user", "content": task}], "stream": True}
            client.request("POST", CHAT_PATH, json.dumps(body).encode())
            time.sleep(0.2)
        exchanges = it.wait_for(2)
        for client in clients:
            client.close()
    assert [exchange.cut for exchange in exchanges] == [Cut.LOOP, Cut.LOOP]


def test_the_same_call_over_and_over_ends_the_attempt_where_that_is_asked_for(rig: Callable[..., Any]) -> None:
    with rig(in_turn(use("list_files")), policy(abort_loops=True)) as it:
        statuses = [it.post(stream=number % 2 == 0)[0] for number in range(7)]
        exchanges = it.wait_for(7)
    assert statuses == [200] * 5 + [404] * 2
    assert [exchange.cut for exchange in exchanges] == [None] * 5 + [Cut.LOOP] * 2
    assert exchanges[5].error == "tool calls go round in circles: 5 calls from 0 on repeat 1 calls"


def test_a_title_that_loops_is_left_alone(tmp_path: Path) -> None:
    the_policy = policy(response_tokens=3_000, abort_loops=True)
    with (
        ScriptedServer(in_turn(Say(LOOP * 900))) as server,
        RecordingProxy(
            server.url, tmp_path / "proxy.sock", the_policy, tmp_path / "log", is_auxiliary=lambda _: True
        ) as proxy,
    ):
        it = Rig(server, proxy, tmp_path)
        assert it.post(stream=True)[0] == 200
        assert it.wait_for(1)[0].finish_reason == "length"


def test_requests_at_the_same_time_are_kept_apart(rig: Callable[..., Any]) -> None:
    with rig(lambda c: Say(c.task * 20, tokens_per_second=200)) as it:
        bodies = [
            json.dumps({"messages": [{"role": "user", "content": f"w{n} "}], "stream": True}).encode() for n in range(5)
        ]
        threads = [threading.Thread(target=it.post, args=(body,)) for body in bodies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        exchanges = it.wait_for(5)
    assert all(e.content == e.request["messages"][0]["content"] * 20 for e in exchanges)
    assert len({exchange.content for exchange in exchanges}) == 5


def test_a_folder_deeper_than_a_socket_address_works(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 120)
    folder.mkdir()
    with RecordingProxy("http://127.0.0.1:9", folder / "proxy.sock", policy(), tmp_path / "log"):
        assert (folder / "proxy.sock").stat().st_mode & 0o777 == 0o666
    assert not (folder / "proxy.sock").exists()


def test_a_folder_that_is_missing_is_the_hosts_fault(tmp_path: Path) -> None:
    with (
        pytest.raises(HostError, match="cannot listen"),
        RecordingProxy("http://127.0.0.1:9", tmp_path / "no" / "proxy.sock", policy(), tmp_path / "log"),
    ):
        raise AssertionError("entered")


def test_a_journal_that_cannot_be_written_is_the_hosts_fault(tmp_path: Path) -> None:
    with (
        pytest.raises(HostError, match="No space left"),
        ScriptedServer(in_turn(Say("ok"))) as server,
        RecordingProxy(server.url, tmp_path / "proxy.sock", policy(), Path("/dev/full")) as proxy,
    ):
        assert Rig(server, proxy, tmp_path).post(stream=True)[0] == 500


def test_an_exchange_survives_json(rig: Callable[..., Any]) -> None:
    with rig(in_turn(Say(LOOP, drop_after=5), use("finish"))) as it:
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            it.post(stream=True)
        it.post(messages=[*MESSAGES, {"role": "assistant", "content": ""}])
        exchanges = it.wait_for(2)
    for exchange in exchanges:
        assert Exchange.from_dict(json.loads(json.dumps(exchange.to_dict()))) == exchange
    with pytest.raises(HostError, match="unknown fields"):
        Exchange.from_dict({**exchanges[0].to_dict(), "speed": 1})


def test_no_task_is_left_behind(rig: Callable[..., Any]) -> None:
    before = threading.active_count()
    with rig(in_turn(Say("ok"))) as it:
        it.post(stream=True)
        it.wait_for(1)
    assert threading.active_count() <= before
