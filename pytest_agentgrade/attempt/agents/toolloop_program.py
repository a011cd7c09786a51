"""The built-in agent, whole: a loop of chat completions and tool calls.

It runs inside the agent's container with nothing but the standard library: read-only root, no network, the workspace
at /work, the model behind http://127.0.0.1:8080. It reads the task from a file and writes one JSON line for each event
to stdout. It decides nothing about limits: a 404 from the model's address means that a limit was reached.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

VERSION = "1"
SYSTEM_PROMPT = (
    "You are a coding agent. Do the task by calling tools; paths are relative to the workspace. "
    "Read the code, edit it, run the tests, then call finish. Nobody answers questions."
)
GO_ON = "No tool was called. Go on with a tool, or call finish if the task is done."
CUT_OFF = "The reply was cut off at its token limit before a tool was called. Think less and call a tool now."
UNREADABLE = "The server could not parse the tool call in the last reply. Call one tool with valid JSON arguments."

OUTPUT_CHARACTERS = 8_000
"""Most characters of a tool's output that the model is shown."""
RUN_SECONDS = 60.0
SEARCH_MATCHES = 100
SKIPPED_FOLDERS = frozenset({".git", "__pycache__"})


class ToolError(Exception):
    """What was wrong with a tool call, as a sentence for the model."""


class LimitReached(Exception):
    """The proxy says that the attempt is over."""


class ServerFailed(Exception):
    """No usable reply; ``retry`` when the same request may succeed."""

    def __init__(self, text: str, *, retry: bool, unparsed: bool = False) -> None:
        super().__init__(text)
        self.retry = retry
        self.unparsed = unparsed


# ---------------------------------------------------------------------------------------------------- the tools


class Workspace:
    """The tools' hands: everything happens below ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def locate(self, path: str) -> Path:
        """The absolute path for a path of a tool call; ToolError when it leaves the workspace, by links too."""
        if "\0" in path:
            raise ToolError("path contains a NUL character")
        try:
            found = (self.root / path).resolve()
        except (OSError, RuntimeError) as error:
            raise ToolError(f"{path}: {_reason(error)}") from error
        if not found.is_relative_to(self.root):
            raise ToolError(f"{path}: outside the workspace; use a path relative to it")
        return found

    def name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def files(self, path: str) -> list[Path]:
        """All files below ``path`` (or the file itself), sorted."""
        start = self.locate(path)
        if start.is_file():
            return [start]
        if not start.is_dir():
            raise ToolError(f"{path}: no such file or folder")
        found = []
        for folder, subfolders, names in os.walk(start):
            subfolders[:] = sorted(set(subfolders) - SKIPPED_FOLDERS)
            found += [place for name in names if (place := Path(folder, name)).is_file()]
        return sorted(found)

    def text(self, path: str) -> str:
        place = self.locate(path)
        if not place.is_file():
            raise ToolError(f"{path}: {'a folder' if place.is_dir() else 'no such file'}")
        try:
            return place.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise ToolError(f"{path}: not a UTF-8 text file") from error
        except OSError as error:
            raise ToolError(f"{path}: {_reason(error)}") from error

    def save(self, path: str, text: str) -> None:
        place = self.locate(path)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode("utf-8"))
        except OSError as error:
            raise ToolError(f"{path}: {_reason(error)}") from error


def read_file(workspace: Workspace, path: str, first_line: int = 1, last_line: int | None = None) -> str:
    lines = workspace.text(path).splitlines(keepends=True)
    if first_line < 1 or (last_line is not None and last_line < first_line):
        raise ToolError("first_line must be at least 1 and last_line not below it")
    wanted = lines[first_line - 1 : last_line]
    shown = 0
    size = 0
    while shown < len(wanted) and size + len(wanted[shown]) <= OUTPUT_CHARACTERS:
        size += len(wanted[shown])
        shown += 1
    if wanted and not shown:
        return _cut(wanted[0])
    text = "".join(wanted[:shown])
    end = first_line - 1 + shown
    note = f"[lines {first_line}-{end} of {len(lines)} shown]" if shown < len(wanted) else ""
    return (text + note) or f"[no lines; the file has {len(lines)}]"


def list_files(workspace: Workspace, path: str = ".") -> str:
    return _cut("\n".join(workspace.name(file) for file in workspace.files(path))) or "[no files]"


def search(workspace: Workspace, pattern: str, path: str = ".") -> str:
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise ToolError(f"pattern is not a regular expression: {error}") from error
    matches = []
    for file in workspace.files(path):
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            continue  # not a text file: nothing to find in it
        matches += [f"{workspace.name(file)}:{n}: {line}" for n, line in enumerate(lines, 1) if wanted.search(line)]
    note = f"\n[{SEARCH_MATCHES} of {len(matches)} matches shown]" if len(matches) > SEARCH_MATCHES else ""
    return _cut("\n".join(matches[:SEARCH_MATCHES])) + note or "[no matches]"


def write_file(workspace: Workspace, path: str, content: str) -> str:
    workspace.save(path, content)
    return f"wrote {path}, {len(content.splitlines())} lines"


def replace_in_file(workspace: Workspace, path: str, old: str, new: str) -> str:
    text = workspace.text(path)
    if not old:
        raise ToolError("old is empty; give the exact text to replace")
    found = text.count(old)
    if found == 0:
        raise ToolError(f"{path}: old text not found; it must match exactly, blanks too")
    if found > 1:
        raise ToolError(f"{path}: old text found {found} times; give more of its surroundings")
    workspace.save(path, text.replace(old, new))
    return f"replaced in {path}"


def run(workspace: Workspace, command: str) -> str:
    """Run ``command`` with sh; output of both streams, cut in the middle; what it leaves in the background is ended."""
    if "\0" in command:
        raise ToolError("command contains a NUL character")
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command], cwd=workspace.root, env=environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except OSError as error:
        raise ToolError(f"cannot run the command: {_reason(error)}") from error
    output = _Output(process)
    try:
        code: int | None = process.wait(RUN_SECONDS)
    except subprocess.TimeoutExpired:
        code = None
    _kill_group(process.pid)
    process.wait()
    head = f"exit code {code}" if code is not None else f"stopped: not done after {RUN_SECONDS:g} s"
    return f"{head}\n{_without_chance(output.text())}".rstrip()


class _Output:
    """Reads a process's output to its end in a thread; keeps the first and the last part only."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self._pipe = process.stdout
        self._head = b""
        self._tail = b""
        self._dropped = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        half = OUTPUT_CHARACTERS // 2
        with self._pipe:
            while chunk := os.read(self._pipe.fileno(), 65_536):
                room = half - len(self._head)
                self._head += chunk[:room]
                tail = self._tail + chunk[room:]
                self._dropped += max(0, len(tail) - half)
                self._tail = tail[-half:]

    def text(self) -> str:
        # A child that left the session may hold the pipe open for ever: what came so far is the answer then.
        self._thread.join(1.0)
        note = f"\n[{self._dropped} bytes left out]\n".encode() if self._dropped else b""
        return (self._head + note + self._tail).decode("utf-8", "replace")


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def _without_chance(text: str) -> str:
    """Leave out what differs from run to run, so that equal replies are followed by equal requests."""
    text = re.sub(r"\bin \d+\.\d+s\b", "in 0.000s", text)
    return re.sub(r" at 0x[0-9a-f]{6,16}\b", " at 0x0", text)


def _cut(text: str) -> str:
    left = len(text) - OUTPUT_CHARACTERS
    return text if left <= 0 else f"{text[:OUTPUT_CHARACTERS]}\n[{left} more characters left out]"


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeError):
        return "not valid Unicode text"
    return (getattr(error, "strerror", None) or str(error)).lower()


@dataclass(frozen=True)
class Tool:
    """A tool as the model sees it, and the function behind it (None: the loop ends)."""

    description: str
    required: dict[str, type]
    optional: dict[str, type]
    function: Callable[..., str] | None

    def schema(self, name: str) -> dict[str, Any]:
        arguments = {**self.required, **self.optional}
        parameters: dict[str, Any] = {
            "type": "object",
            "properties": {key: {"type": _JSON_TYPES[kind]} for key, kind in arguments.items()},
            "required": list(self.required),
        }
        function = {"name": name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}


_JSON_TYPES = {str: "string", int: "integer"}
TOOL_TABLE = {
    "read_file": Tool(
        "Read a text file, or some of its lines.", {"path": str}, {"first_line": int, "last_line": int}, read_file
    ),
    "list_files": Tool("List all files below a folder.", {}, {"path": str}, list_files),
    "search": Tool("Find lines by a regular expression.", {"pattern": str}, {"path": str}, search),
    "write_file": Tool("Create or overwrite a file.", {"path": str, "content": str}, {}, write_file),
    "replace_in_file": Tool(
        "Replace a text that occurs exactly once.", {"path": str, "old": str, "new": str}, {}, replace_in_file
    ),
    "run": Tool(f"Run a shell command, at most {RUN_SECONDS:g} s.", {"command": str}, {}, run),
    "finish": Tool("End the work.", {}, {"summary": str}, None),
}
TOOLS = [tool.schema(name) for name, tool in TOOL_TABLE.items()]


def check_arguments(name: str, arguments: str) -> dict[str, Any]:
    """The arguments of a call to ``name``, or ToolError with all that is wrong with them."""
    tool = TOOL_TABLE.get(name)
    if tool is None:
        raise ToolError(f"unknown tool {name!r}; tools: {', '.join(TOOL_TABLE)}")
    values = parse_object(arguments)
    known = {**tool.required, **tool.optional}
    wrong = [f"missing argument {key!r}" for key in tool.required if key not in values]
    wrong += [f"unknown argument {key!r}" for key in values if key not in known]
    for key, kind in known.items():
        if key in values and type(values[key]) is not kind:
            wrong.append(f"argument {key!r} must be a {_JSON_TYPES[kind]}, not {json.dumps(values[key])[:80]}")
    if wrong:
        raise ToolError(f"{name}: {'; '.join(wrong)}. Arguments: {', '.join(known)}")
    return values


def parse_object(arguments: str) -> dict[str, Any]:
    """A JSON object, or ToolError."""
    try:
        values = json.loads(arguments or "{}", parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ToolError(f"the arguments are not valid JSON ({error}); nothing was done") from error
    if not isinstance(values, dict):
        raise ToolError("the arguments are not a JSON object; nothing was done")
    return values


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


# ---------------------------------------------------------------------------------------------------- the model


@dataclass
class Call:
    """One tool call, put together from its fragments."""

    name: str = ""
    arguments: str = ""


@dataclass
class Reply:
    """One reply of the model, put together from its stream."""

    content: str = ""
    reasoning_characters: int = 0
    calls: dict[int, Call] = field(default_factory=dict)
    finish_reason: str | None = None

    def add(self, chunk: dict[str, Any]) -> None:
        """Take in one streamed chunk (the last one, with the usage, has no choices); ServerFailed for an odd one."""
        if "error" in chunk:
            raise _server_error(chunk["error"])
        try:
            for choice in chunk.get("choices") or []:
                self._add_choice(choice)
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise ServerFailed(f"a chunk of the stream is no completion: {error}", retry=True) from error

    def _add_choice(self, choice: dict[str, Any]) -> None:
        delta = choice.get("delta") or {}
        self.content += delta.get("content") or ""
        self.reasoning_characters += len(delta.get("reasoning_content") or delta.get("reasoning") or "")
        for part in delta.get("tool_calls") or []:
            call = self.calls.setdefault(int(part.get("index", 0)), Call())
            function = part.get("function") or {}
            call.name += function.get("name") or ""
            call.arguments += function.get("arguments") or ""
        self.finish_reason = choice.get("finish_reason") or self.finish_reason


def sse_chunks(lines: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    """The JSON chunks of a server-sent event stream; ServerFailed when it ends before ``[DONE]``.

    Comment lines (pings) are skipped, an event may have several ``data:`` lines.
    """
    data: list[bytes] = []
    for raw in lines:
        line = raw.rstrip(b"\r\n")
        if line:
            name, _, value = line.partition(b":")
            if name in (b"data", b"error"):
                data.append(value.removeprefix(b" "))
            continue
        event, data = b"\n".join(data), []
        if event.strip() == b"[DONE]":
            return
        if event:
            yield _chunk(event)
    if data and b"\n".join(data).strip() == b"[DONE]":
        return
    raise ServerFailed("the stream ended before it was done", retry=True)


def _chunk(event: bytes) -> dict[str, Any]:
    try:
        chunk = json.loads(event)
    except ValueError as error:
        raise ServerFailed(f"a chunk of the stream is not JSON: {error}", retry=True) from error
    if not isinstance(chunk, dict):
        raise ServerFailed("a chunk of the stream is not a JSON object", retry=True)
    return chunk if "choices" in chunk or "error" in chunk else {"error": chunk} if "code" in chunk else chunk


def _server_error(error: object) -> ServerFailed:
    body = error if isinstance(error, dict) else {"message": str(error)}
    text = str(body.get("message", ""))[:500]
    unparsed = "does not match the expected" in text or "parse" in text.lower()
    too_long = body.get("type") == "exceed_context_size_error"
    return ServerFailed(text, retry=not (unparsed or too_long), unparsed=unparsed)


class Model:
    """The chat completions behind a base URL."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port, self._path = parts.hostname or "127.0.0.1", parts.port or 80, parts.path.rstrip("/")

    def ask(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] = TOOLS) -> Reply:
        """One streamed completion. Raises LimitReached or ServerFailed."""
        offered = {"tools": tools} if tools else {}
        body = {"model": "local", "messages": messages, **offered, "stream": True,
                "stream_options": {"include_usage": True}}  # fmt: skip
        connection = http.client.HTTPConnection(self._host, self._port)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", f"{self._path}/chat/completions", json.dumps(body).encode(), headers)
            return self._read(connection.getresponse())
        except (OSError, http.client.HTTPException) as error:
            raise ServerFailed(f"{type(error).__name__}: {error}", retry=True) from error
        finally:
            connection.close()

    def _read(self, response: http.client.HTTPResponse) -> Reply:
        if response.status == 404:
            raise LimitReached(response.read(2_000).decode("utf-8", "replace"))
        if response.status != 200:
            raise _failed_status(response.status, response.read(20_000))
        reply = Reply()
        for chunk in sse_chunks(iter(response.readline, b"")):
            reply.add(chunk)
        return reply


def _failed_status(status: int, body: bytes) -> ServerFailed:
    try:
        failed = _server_error(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        failed = ServerFailed(body[:500].decode("utf-8", "replace"), retry=True)
    return ServerFailed(
        f"HTTP {status}: {failed}", retry=failed.retry and status >= 500, unparsed=failed.unparsed and status >= 500
    )


# ---------------------------------------------------------------------------------------------------- the loop


class Conversation:
    """The messages so far, always in a form that every chat template renders."""

    def __init__(self, task: str) -> None:
        self.messages: list[dict[str, Any]] = [
            {"role": "system", "content": SYSTEM_PROMPT},
            {"role": "user", "content": task},
        ]
        self._calls = 0

    def reply(self, reply: Reply) -> list[tuple[str, Call]]:
        """Add a reply; its calls with the ids their results need.

        Arguments that are no JSON object go back as ``{}``: servers answer a history with broken ones with an error,
        for the rest of the attempt. Ids are counted, as the server's own are random.
        """
        numbered = []
        for _, call in sorted(reply.calls.items()):
            self._calls += 1
            numbered.append((f"call{self._calls:05d}", call))
        message: dict[str, Any] = {"role": "assistant", "content": _clean(reply.content)}
        if numbered:
            message["tool_calls"] = [
                {"id": key, "type": "function", "function": {"name": _name(call), "arguments": _valid(call.arguments)}}
                for key, call in numbered
            ]
        self.messages.append(message)
        return numbered

    def result(self, key: str, text: str) -> None:
        self.messages.append({"role": "tool", "tool_call_id": key, "content": _clean(text)})

    def say(self, text: str) -> None:
        """Say something as the user; after a lost reply an assistant's turn is put in, as templates want turns."""
        if self.messages[-1]["role"] == "user":
            self.messages.append({"role": "assistant", "content": "(unreadable)"})
        self.messages.append({"role": "user", "content": text})


def _name(call: Call) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", call.name)[:64] or "unknown"


def _valid(arguments: str) -> str:
    try:
        return _clean(json.dumps(parse_object(arguments), ensure_ascii=False))
    except (ToolError, RecursionError):
        return "{}"


def _clean(text: str) -> str:
    """Without lone surrogates, which a server's JSON parser refuses."""
    return text.encode("utf-8", "replace").decode("utf-8")


def event(kind: str, **details: object) -> None:
    """Write one event to stdout: a JSON line of a few hundred bytes at most."""
    print(json.dumps({"event": kind, **details}), flush=True)


def use(workspace: Workspace, call: Call, *, cut_off: bool) -> tuple[str, bool]:
    """Carry out a call: the text for the model, and whether it went well."""
    try:
        arguments = check_arguments(call.name, call.arguments)
        function = TOOL_TABLE[call.name].function
        return ("done", True) if function is None else (function(workspace, **arguments), True)
    except ToolError as error:
        hint = " The reply was cut off at its token limit: write less at once." if cut_off else ""
        return f"error: {error}{hint}", False
    except (OSError, UnicodeError) as error:  # a name too long, a lone surrogate: the model's doing as well
        return f"error: {_reason(error)}", False


def ask_patiently(model: Model, conversation: Conversation) -> Reply:
    """Ask; once more when the server failed for a moment. Raises LimitReached or ServerFailed."""
    try:
        return model.ask(conversation.messages)
    except ServerFailed as error:
        if not error.retry:
            raise
        event("retry", text=str(error)[:300])
        return model.ask(conversation.messages)


def work(model: Model, workspace: Workspace, task: str) -> str:
    """Loop until there is a reason to end, and return it: finish, silent, limit or server."""
    conversation = Conversation(task)
    silent = turn = 0
    while silent < 2:
        turn += 1
        try:
            reply = ask_patiently(model, conversation)
        except LimitReached:
            return "limit"
        except ServerFailed as error:
            event("failed", turn=turn, text=str(error)[:300])
            if not error.unparsed:
                return "server"
            silent += 1
            conversation.say(UNREADABLE)
            continue
        names = [call.name[:64] for call in reply.calls.values()][:8]
        event("turn", turn=turn, finish_reason=reply.finish_reason, tools=names, content=reply.content[:200])
        calls = conversation.reply(reply)
        silent = 0 if calls else silent + 1
        cut_off = reply.finish_reason == "length"
        if not calls:
            conversation.say(CUT_OFF if cut_off else GO_ON)
        if _carry_out(workspace, conversation, calls, turn, cut_off=cut_off):
            return "finish"
    return "silent"


def _carry_out(
    workspace: Workspace, conversation: Conversation, calls: list[tuple[str, Call]], turn: int, *, cut_off: bool
) -> bool:
    """Carry out the calls in their order; whether one of them was a valid finish."""
    finished = False
    for key, call in calls:
        text, good = use(workspace, call, cut_off=cut_off)
        event("tool", turn=turn, name=call.name[:64], ok=good, text=text[:200])
        conversation.result(key, text)
        finished = finished or (good and call.name == "finish")
    return finished


def main() -> None:
    """Run the loop on the task in a file."""
    parser = argparse.ArgumentParser(description="A coding agent that works through tool calls.")
    parser.add_argument("task", type=Path, help="file with the task's text")
    parser.add_argument("--url", default="http://127.0.0.1:8080/v1", help="base URL of the chat completions")
    parser.add_argument("--workspace", default="/work", type=Path)
    options = parser.parse_args()
    event("start", agent="toolloop", version=VERSION)
    reason = work(Model(options.url), Workspace(options.workspace), options.task.read_text(encoding="utf-8"))
    event("end", reason=reason)
    sys.exit(0)


if __name__ == "__main__":
    main()
