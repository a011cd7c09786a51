"""A loopback HTTP server that speaks like llama.cpp's and follows a script in place of a model.

As a context manager in tests, or ``python -m tests.scripted_server --script solve --port 8081``. It is stateless: what
it answers depends on the conversation in the request only (how many replies it holds, and the task's text).
"""

from __future__ import annotations

import argparse
import json
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Files = Mapping[str, str]


@dataclass(frozen=True)
class Call:
    """A tool call; ``arguments`` may be a text that is no JSON."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class Say:
    """One scripted reply."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    prompt_seconds: float = 0.0
    """Silence before the first token."""
    tokens_per_second: float | None = None
    drop_after: int | None = None
    """Close the connection after so many tokens, without an end."""
    error_after: int | None = None
    """Send an error inside the 200 stream after so many tokens (0: before the first one)."""
    die_after: int | None = None
    """Like ``drop_after``, and nothing listens any more."""
    end_seconds: float = 0.0
    """Silence between the last event and the end of the body."""
    status: int = 200
    error: Mapping[str, Any] | None = None
    """Body of the reply where ``status`` is not 200, or the error inside the stream."""


@dataclass(frozen=True)
class Conversation:
    """What a script sees of a request."""

    step: int
    """Replies already given in this conversation."""
    task: str
    """Text of the first user message."""
    body: Mapping[str, Any]

    @property
    def last(self) -> str:
        """Text of the last message."""
        return str(self.body["messages"][-1].get("content") or "")


Script = Callable[[Conversation], Say]


def finish(text: str = "done") -> Say:
    return Say(calls=(Call("finish", {"summary": text}),))


def use(name: str, **arguments: Any) -> Say:
    return Say(reasoning=f"I call {name}.", calls=(Call(name, arguments),))


def in_turn(*replies: Say) -> Script:
    """Give the replies one after another; the last one for ever."""
    return lambda conversation: replies[min(conversation.step, len(replies) - 1)]


def solve(files: Files | Callable[[str], Files], **changes: Any) -> Script:
    """Look around, write each file, run the tests, finish. ``files`` may depend on the task's text."""

    def script(conversation: Conversation) -> Say:
        wanted = files(conversation.task) if callable(files) else files
        writes = [use("write_file", path=path, content=content) for path, content in sorted(wanted.items())]
        tests = use("run", command="python3 -m unittest discover -s tests -t .")
        steps = [use("list_files"), *writes, tests, finish()]
        return replace(steps[min(conversation.step, len(steps) - 1)], **changes)

    return script


LOOP = "Let me think about this again. The clock could be wrong, so I should check the clock once more first. "
OVERFLOW = {
    "code": 400, "message": "the request exceeds the available context size, try increasing it",
    "type": "exceed_context_size_error", "n_prompt_tokens": 40_000, "n_ctx": 32_768,
}  # fmt: skip
BATCH_FAILED = {"code": 500, "message": "failed to decode the batch", "type": "server_error"}
UNPARSED = {
    "code": 500, "type": "server_error",
    "message": "The model produced output that does not match the expected peg-native format",
}  # fmt: skip
_TEXT_TOOL_CALL = '<tool_call>{"name": "list_files", "arguments": {}}</tool_call>'
_TEST_FILE = {"path": "tests/test_more.py", "content": "import unittest\n"}
_CUT_ARGUMENTS = '{"path": "a.py", "content": "x = '

SCRIPTS: dict[str, Script] = {
    "idle": in_turn(use("list_files"), finish()),
    "tests_only": in_turn(use("write_file", **_TEST_FILE), finish()),
    "loop": in_turn(use("list_files"), Say(reasoning=LOOP * 4_000)),
    "ramble": in_turn(Say(content=LOOP * 4_000)),
    "long_call": in_turn(use("write_file", path="a.py", content="x = 1\n" * 20_000)),
    "broken_calls": in_turn(
        Say(calls=(Call("write_file", _CUT_ARGUMENTS),)),
        Say(calls=(Call("no_such_tool", {"a": 1}),)),
        Say(calls=(Call("read_file", {"file": "a.py", "first_line": "1"}),)),
        finish(),
    ),
    "call_as_text": in_turn(Say(content=_TEXT_TOOL_CALL)),
    "call_in_reasoning": in_turn(Say(reasoning=f"I look around.\n{_TEXT_TOOL_CALL}")),
    "empty": in_turn(Say()),
    "talk": in_turn(Say(content="The cache should keep its entries.")),
    "repeat": in_turn(use("read_file", path="README.md")),
    "drop": in_turn(use("list_files"), Say(content=LOOP, drop_after=5)),
    "die": in_turn(use("list_files"), Say(content=LOOP, die_after=5)),
    "error_in_stream": in_turn(use("list_files"), Say(content=LOOP, error_after=5)),
    "error_500": in_turn(Say(status=500, error={"code": 500, "message": "out of memory", "type": "server_error"})),
    "unparsed": in_turn(Say(status=500, error=UNPARSED)),
    "overflow_in_stream": in_turn(use("list_files"), Say(content=LOOP, error_after=0, error=OVERFLOW)),
    "unparsed_in_stream": in_turn(Say(content=LOOP, error_after=5, error=UNPARSED)),
    "overflow": in_turn(use("list_files"), Say(status=400, error=OVERFLOW)),
}
"""Scripts that need no files; ``solve`` and ``slow`` take them."""


def slow(files: Files | Callable[[str], Files], tokens_per_second: float = 20.0) -> Script:
    """Write the files at once, then talk on slowly: the clock cuts it with a good tree in place."""
    quick = solve(files)

    def script(conversation: Conversation) -> Say:
        say = quick(conversation)
        over = say.calls and say.calls[0].name in ("run", "finish")
        return Say(reasoning=LOOP * 400, tokens_per_second=tokens_per_second) if over else say

    return script


def pieces(text: str) -> list[str]:
    """Cut into what the server counts as tokens."""
    return re.findall(r"\s*\w{1,12}|\s*[^\w\s]|\s+", text)


class ScriptedServer:
    """Listens from ``__enter__`` on; everything it was asked is kept."""

    def __init__(
        self,
        script: Script,
        *,
        port: int = 0,
        drafts: bool = False,
        context: int = 32_768,
        supports_tools: bool = True,
        api_key: str = "",
    ) -> None:
        """``api_key``: asked for everywhere but on ``/health``, as llama.cpp does."""
        self.script = script
        self.drafts = drafts
        self.context = context
        self.supports_tools = supports_tools
        self.api_key = api_key
        self.requests: list[dict[str, Any]] = []
        """Bodies of the chat completions asked for."""
        self.headers: list[dict[str, str]] = []
        self.disconnects = 0
        """Replies that stopped because the client went away."""
        self.drafted = self.accepted = 0
        server = self

        class Handler(_Handler):
            scripted = server

        self._http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """Base URL, without ``/v1``."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop_listening()
        self._thread.join()

    def stop_listening(self) -> None:
        """Refuse connections from now on; calling twice is harmless."""
        self._http.shutdown()
        self._http.server_close()

    def wait_for_disconnects(self, count: int, seconds: float = 5.0) -> bool:
        """Whether so many replies were stopped by their client within ``seconds``."""
        end = time.monotonic() + seconds
        while self.disconnects < count and time.monotonic() < end:
            time.sleep(0.01)
        return self.disconnects >= count


class _Gone(Exception):
    """The client closed the connection."""


class _Handler(BaseHTTPRequestHandler):
    scripted: ScriptedServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on stderr."""

    def _refused(self) -> bool:
        key = self.scripted.api_key
        if not key or self.path == "/health" or self.headers.get("Authorization") == f"Bearer {key}":
            return False
        self._json(401, {"error": {"code": 401, "message": "Invalid API Key", "type": "authentication_error"}})
        return True

    def do_GET(self) -> None:
        if self._refused():
            return
        server = self.scripted
        answers: dict[str, Any] = {
            "/health": {"status": "ok"},
            "/v1/models": {"object": "list", "data": [{"id": "scripted", "object": "model"}]},
            "/slots": [{"id": 0, "n_ctx": server.context, "speculative": server.drafts, "is_processing": False}],
            "/props": {
                "model_path": "scripted.gguf", "build_info": "b0-scripted", "total_slots": 1,
                "default_generation_settings": {"n_ctx": server.context},
                "chat_template_caps": {"supports_tools": server.supports_tools},
            },
        }  # fmt: skip
        if self.path == "/metrics":
            lines = (
                f"llamacpp:spec_decode_num_draft_tokens_total {server.drafted}\n"
                f"llamacpp:spec_decode_num_accepted_tokens_total {server.accepted}\n"
                f"llamacpp:spec_decode_num_drafts_total {server.drafted}\n"
                f'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{{position="0"}} {server.accepted}\n'
            )
            self._whole(200, lines.encode(), "text/plain")
        elif self.path in answers:
            self._json(200, answers[self.path])
        else:
            self._json(404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self._refused():
            return
        if self.path == "/tokenize":
            self._json(200, {"tokens": list(range(len(pieces(body["content"]))))})
        elif self.path == "/v1/chat/completions":
            self._chat(body)
        else:
            self._json(404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}})

    def _chat(self, body: dict[str, Any]) -> None:
        server = self.scripted
        server.requests.append(body)
        server.headers.append(dict(self.headers))
        messages = body["messages"]
        step = sum(message["role"] == "assistant" for message in messages)
        task = next((message["content"] for message in messages if message["role"] == "user"), "")
        say = server.script(Conversation(step, task, body))
        generation = _Generation(self, say, body)
        self.close_connection = True
        try:
            self._pause(say.prompt_seconds)
            if say.status != 200:
                self._json(say.status, {"error": say.error})
            elif body.get("stream"):
                generation.stream()
            else:
                generation.whole()
        except (_Gone, BrokenPipeError, ConnectionResetError):
            server.disconnects += 1

    def _pause(self, seconds: float) -> None:
        """Sleep, but notice a client that goes away, as llama.cpp does."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            readable, _, _ = select.select([self.connection], [], [], min(left, 0.05))
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise _Gone

    def _json(self, status: int, value: Any) -> None:
        self._whole(status, json.dumps(value).encode(), "application/json; charset=utf-8")

    def _whole(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class _Generation:
    """Turns a scripted reply into llama.cpp's wire format."""

    def __init__(self, handler: _Handler, say: Say, body: Mapping[str, Any]) -> None:
        self.handler = handler
        self.server = handler.scripted
        self.say = say
        self.prompt_tokens = len(pieces(json.dumps(body["messages"]) + json.dumps(body.get("tools", []))))
        self.cap = min(body.get("max_tokens") or 1 << 30, max(0, self.server.context - self.prompt_tokens))
        self.with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        self.with_timings = bool(body.get("timings_per_token"))
        self.tokens = 0
        self.began = time.monotonic()
        self.finish_reason = "tool_calls" if say.calls else "stop"

    def stream(self) -> None:
        handler = self.handler
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        self._write(b": ping\n\n")
        self._event(self._chunk({"role": "assistant", "content": None}))
        if self._breaks_off():
            return
        for delta in self._deltas():
            self._event(self._chunk(delta, timings=self.with_timings))
            if self._breaks_off():
                return
        self._event(self._chunk({}, finish_reason=self.finish_reason, timings=True))
        if self.with_usage:
            self._event({**self._chunk(None, timings=True), "usage": self._usage()})
        self._write(b"data: [DONE]\n\n")
        self.handler._pause(self.say.end_seconds)
        handler.wfile.write(b"0\r\n\r\n")

    def whole(self) -> None:
        parts: dict[str, str] = {"content": "", "reasoning_content": ""}
        calls: dict[int, dict[str, Any]] = {}
        for delta in self._deltas():
            for key in parts:
                parts[key] += delta.get(key, "")
            for part in delta.get("tool_calls", ()):
                call = calls.setdefault(part["index"], {"id": part.get("id"), "type": "function",
                                                        "function": {"name": "", "arguments": ""}})  # fmt: skip
                for key, text in part["function"].items():
                    call["function"][key] += text
            if self._breaks_off():
                return
        message = {"role": "assistant", **parts, **({"tool_calls": list(calls.values())} if calls else {})}
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        body = {"object": "chat.completion", "choices": [choice], "usage": self._usage(), "timings": self._timings()}
        self.handler._json(200, body)

    def _deltas(self) -> Iterator[dict[str, Any]]:
        """One delta for each token, until the cap."""
        for delta in self._all_deltas():
            if self.tokens >= self.cap:
                self.finish_reason = "length"
                return
            self.tokens += 1
            if self.server.drafts:
                self.server.drafted += 1
                self.server.accepted += self.tokens % 4 != 0
            if self.say.tokens_per_second:
                self.handler._pause(1.0 / self.say.tokens_per_second)
            yield delta

    def _all_deltas(self) -> Iterator[dict[str, Any]]:
        for piece in pieces(self.say.reasoning):
            yield {"reasoning_content": piece}
        for piece in pieces(self.say.content):
            yield {"content": piece}
        for index, call in enumerate(self.say.calls):
            opening = {"name": call.name, "arguments": ""}
            yield {"tool_calls": [{"index": index, "id": f"id{index}", "type": "function", "function": opening}]}
            for piece in pieces(call.text):
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}

    def _breaks_off(self) -> bool:
        say = self.say
        if self.tokens == say.error_after:
            self._event({"error": say.error or BATCH_FAILED})
            self._write(b"data: [DONE]\n\n")
            self.handler._pause(self.say.end_seconds)
            self.handler.wfile.write(b"0\r\n\r\n")
            return True
        if self.tokens == say.die_after:
            threading.Thread(target=self.server.stop_listening, daemon=True).start()
            time.sleep(0.2)  # until the port is closed: whoever asks again finds nobody
        if self.tokens in (say.drop_after, say.die_after):
            self.handler.connection.shutdown(socket.SHUT_RDWR)
            return True
        return False

    def _chunk(
        self, delta: Mapping[str, Any] | None, *, finish_reason: str | None = None, timings: bool = False
    ) -> dict[str, Any]:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
        chunk: dict[str, Any] = {"object": "chat.completion.chunk", "model": "scripted", "choices": choices}
        return {**chunk, "timings": self._timings()} if timings else chunk

    def _timings(self) -> dict[str, Any]:
        took = (time.monotonic() - self.began) * 1_000
        timings: dict[str, Any] = {
            "cache_n": 0, "prompt_n": self.prompt_tokens, "prompt_ms": 1.0 + self.say.prompt_seconds * 1_000,
            "predicted_n": self.tokens, "predicted_ms": took,
            "predicted_per_second": self.tokens / took * 1_000 if took else 0.0,
        }  # fmt: skip
        if self.server.drafts and self.tokens:
            timings |= {"draft_n": self.tokens, "draft_n_accepted": self.tokens * 3 // 4}
        return timings

    def _usage(self) -> dict[str, Any]:
        return {
            "completion_tokens": self.tokens, "prompt_tokens": self.prompt_tokens,
            "total_tokens": self.tokens + self.prompt_tokens, "prompt_tokens_details": {"cached_tokens": 0},
        }  # fmt: skip

    def _event(self, value: Any) -> None:
        self._write(b"data: " + json.dumps(value).encode() + b"\n\n")

    def _write(self, data: bytes) -> None:
        self.handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


def references(tasks: Path, checks: Path) -> Callable[[str], Files]:
    """The right solution of whichever task's prompt is asked."""
    known = {prompt.parent.name: prompt.read_text(encoding="utf-8") for prompt in sorted(tasks.glob("*/prompt.md"))}

    def files(task: str) -> Files:
        for name, prompt in known.items():
            if prompt.strip() in task:
                root = checks / name / "reference"
                return {
                    path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
                    for path in sorted(root.rglob("*.py"))
                }
        return {}

    return files


def named_script(name: str, files: Files | Callable[[str], Files] = lambda _: {}) -> Script:
    """A script by its name; KeyError for an unknown one."""
    return {"solve": solve(files), "slow": slow(files), **SCRIPTS}[name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--script", required=True, choices=["solve", "slow", *SCRIPTS])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--api-key", default="")
    parser.add_argument("--drafts", action="store_true", help="report drafts, as a speculating server does")
    parser.add_argument("--tasks", type=Path, default=Path("task_fixtures"))
    parser.add_argument("--checks", type=Path, default=Path("hidden_checks"), help="`solve` writes the references")
    options = parser.parse_args()
    script = named_script(options.script, references(options.tasks, options.checks))
    with ScriptedServer(script, port=options.port, drafts=options.drafts, api_key=options.api_key) as server:
        print(server.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
