"""The built-in agent: its tools, its reading of streams, and whole runs against a scripted server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_agentgrade.attempt.agents import toolloop_program as program
from pytest_agentgrade.attempt.agents.toolloop_program import (
    TOOL_TABLE,
    TOOLS,
    Call,
    Reply,
    ServerFailed,
    ToolError,
    Workspace,
    check_arguments,
    sse_chunks,
)
from tests.scripted_server import SCRIPTS, Conversation, Say, Script, ScriptedServer, finish, in_turn, solve, use
from tests.scripted_server import Call as Scripted


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "work"
    (root / "pkg" / "__pycache__").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref\n")
    (root / "pkg" / "__pycache__" / "a.pyc").write_bytes(b"\0\xff")
    (root / "pkg" / "a.py").write_text("one\ntwo\nthree\n")
    (root / "README.md").write_text("Read me, two.\n")
    return Workspace(root)


def do(workspace: Workspace, name: str, **arguments: Any) -> str:
    text, _ = program.use(workspace, Call(name, json.dumps(arguments)), cut_off=False)
    return text


class TestArguments:
    @pytest.mark.parametrize(
        ("name", "arguments", "complaint"),
        [
            ("nothing", "{}", "unknown tool 'nothing'; tools: read_file"),
            ("read_file", '{"path": "a', "not valid JSON"),
            ("read_file", '["a"]', "not a JSON object"),
            ("read_file", "[" * 100_000, "not valid JSON"),
            ("read_file", '{"path": NaN}', "NaN is not JSON"),
            ("read_file", "{}", "missing argument 'path'"),
            ("read_file", '{"path": 1}', "'path' must be a string, not 1"),
            ("read_file", '{"path": "a", "first_line": true}', "'first_line' must be a integer, not true"),
            ("read_file", '{"path": "a", "first_line": "1"}', "'first_line' must be a integer"),
            ("write_file", '{"path": "a", "text": "x"}', "missing argument 'content'; unknown argument 'text'"),
        ],
    )
    def test_a_wrong_call_is_told_what_is_wrong(self, name: str, arguments: str, complaint: str) -> None:
        with pytest.raises(ToolError) as caught:
            check_arguments(name, arguments)
        assert complaint in str(caught.value)

    def test_a_right_call_passes(self) -> None:
        assert check_arguments("read_file", '{"path": "a", "first_line": 3}') == {"path": "a", "first_line": 3}
        assert check_arguments("list_files", "") == {}

    def test_the_schemas_are_those_of_the_functions(self) -> None:
        for tool, entry in zip(TOOLS, TOOL_TABLE.values(), strict=True):
            parameters = tool["function"]["parameters"]
            assert set(parameters["required"]) == set(entry.required)
            if entry.function is not None:
                names = entry.function.__code__.co_varnames[1 : entry.function.__code__.co_argcount]
                assert tuple(parameters["properties"]) == names

    def test_prompt_and_schemas_stay_short(self) -> None:
        """About 3.5 characters are one token: the demo model learns on these."""
        assert len(json.dumps(TOOLS)) + len(program.SYSTEM_PROMPT) < 2_000


class TestTools:
    @pytest.mark.parametrize("path", ["../x", "/etc/passwd", "pkg/../../x", "out/x"])
    def test_nothing_outside_the_workspace(self, workspace: Workspace, path: str) -> None:
        (workspace.root / "out").symlink_to(workspace.root.parent)
        (workspace.root.parent / "x").write_text("secret")
        assert "outside the workspace" in do(workspace, "read_file", path=path)
        assert "outside the workspace" in do(workspace, "write_file", path=path, content="y")
        assert (workspace.root.parent / "x").read_text() == "secret"

    @pytest.mark.parametrize("path", ["a\0b", "x" * 5_000, "\ud800", "", "pkg/a.py/b"])
    def test_an_odd_path_is_an_error_for_the_model(self, workspace: Workspace, path: str) -> None:
        for name, extra in (("read_file", {}), ("write_file", {"content": "y"}), ("list_files", {})):
            text = do(workspace, name, path=path, **extra)
            if (name, path) != ("list_files", ""):
                assert text.startswith("error: "), (name, text)

    def test_read_file(self, workspace: Workspace) -> None:
        assert do(workspace, "read_file", path="pkg/a.py") == "one\ntwo\nthree\n"
        assert do(workspace, "read_file", path=f"{workspace.root}/pkg/a.py") == "one\ntwo\nthree\n"
        assert do(workspace, "read_file", path="pkg/a.py", first_line=2, last_line=2) == "two\n"
        assert do(workspace, "read_file", path="pkg/a.py", first_line=9) == "[no lines; the file has 3]"
        assert "at least 1" in do(workspace, "read_file", path="pkg/a.py", first_line=0)
        assert "no such file" in do(workspace, "read_file", path="b.py")
        assert "a folder" in do(workspace, "read_file", path="pkg")
        assert "not a UTF-8 text" in do(workspace, "read_file", path="pkg/__pycache__/a.pyc")

    def test_a_fifo_does_not_block(self, workspace: Workspace) -> None:
        os.mkfifo(workspace.root / "fifo")
        assert "no such file" in do(workspace, "read_file", path="fifo")
        assert "fifo" not in do(workspace, "list_files")
        assert do(workspace, "search", pattern="three") == "pkg/a.py:3: three"

    def test_long_output_is_cut_with_a_note(self, workspace: Workspace) -> None:
        (workspace.root / "long.py").write_text("x = 1\n" * 9_000)
        text = do(workspace, "read_file", path="long.py")
        assert text.endswith("[lines 1-1333 of 9000 shown]")
        (workspace.root / "wide.py").write_text("x" * 20_000)
        assert do(workspace, "read_file", path="wide.py").endswith("[12000 more characters left out]")
        text = do(workspace, "search", pattern="x = ")
        assert "[100 of 9000 matches shown]" in text
        text = do(workspace, "run", command="seq 100000; echo end")
        assert text.startswith("exit code 0\n1\n2\n")
        assert text.endswith("100000\nend")
        assert "bytes left out" in text
        assert len(text) < program.OUTPUT_CHARACTERS + 100

    def test_list_files_is_sorted_and_leaves_out_git_and_bytecode(self, workspace: Workspace) -> None:
        assert do(workspace, "list_files") == "README.md\npkg/a.py"
        assert do(workspace, "list_files", path="pkg") == "pkg/a.py"
        assert "no such file or folder" in do(workspace, "list_files", path="no")

    def test_search(self, workspace: Workspace) -> None:
        assert do(workspace, "search", pattern=r"\btwo\b") == "README.md:1: Read me, two.\npkg/a.py:2: two"
        assert do(workspace, "search", pattern="two", path="pkg/a.py") == "pkg/a.py:2: two"
        assert do(workspace, "search", pattern="four") == "[no matches]"
        assert "not a regular expression" in do(workspace, "search", pattern="(")

    def test_write_and_replace(self, workspace: Workspace) -> None:
        assert do(workspace, "write_file", path="new/é.py", content="a\nb\n") == "wrote new/é.py, 2 lines"
        assert do(workspace, "replace_in_file", path="new/é.py", old="a\n", new="c\n") == "replaced in new/é.py"
        assert (workspace.root / "new" / "é.py").read_text() == "c\nb\n"
        assert "not found" in do(workspace, "replace_in_file", path="pkg/a.py", old="four", new="")
        assert "found 3 times" in do(workspace, "replace_in_file", path="pkg/a.py", old="\n", new="")
        assert "old is empty" in do(workspace, "replace_in_file", path="pkg/a.py", old="", new="x")
        assert (workspace.root / "pkg" / "a.py").read_text() == "one\ntwo\nthree\n"
        assert do(workspace, "write_file", path="bad.py", content="\ud800").startswith("error: ")

    def test_line_ends_survive_a_replacement(self, workspace: Workspace) -> None:
        (workspace.root / "dos.py").write_bytes(b"a\r\nb\r\n")
        do(workspace, "replace_in_file", path="dos.py", old="a", new="c")
        assert (workspace.root / "dos.py").read_bytes() == b"c\r\nb\r\n"

    def test_run(self, workspace: Workspace) -> None:
        assert do(workspace, "run", command="pwd; echo oops >&2; exit 3") == f"exit code 3\n{workspace.root}\noops"
        assert do(workspace, "run", command="true") == "exit code 0"
        assert do(workspace, "run", command="cat") == "exit code 0"  # no input to wait for

    def test_run_is_stopped_with_its_children(self, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(program, "RUN_SECONDS", 0.5)
        text = do(workspace, "run", command="sleep 100 & echo $!; sleep 100")
        head, pid = text.split("\n")
        assert head == "stopped: not done after 0.5 s"
        with pytest.raises(ProcessLookupError):
            for _ in range(100):
                os.kill(int(pid), 0)
                subprocess.run(["sleep", "0.05"], check=True)

    def test_a_child_that_left_the_session_does_not_hold_the_answer(self, workspace: Workspace) -> None:
        text = do(workspace, "run", command="echo hello; setsid sleep 2 & true")
        assert text == "exit code 0\nhello"

    def test_run_leaves_out_what_differs_from_run_to_run(self, workspace: Workspace) -> None:
        shown = "Ran 3 tests in 0.123s, <object at 0x7f00aa11bb22>"
        assert do(workspace, "run", command=f"echo '{shown}'").endswith("Ran 3 tests in 0.000s, <object at 0x0>")


def chunks_of(text: str) -> list[dict[str, Any]]:
    return list(sse_chunks(iter(text.encode().splitlines(keepends=True))))


class TestStream:
    def test_pings_crlf_and_several_data_lines(self) -> None:
        text = (
            ': ping\r\n\r\ndata: {"choices":\r\ndata: []}\r\n\r\nevent: x\nid: 1\n\ndata:{"a": 1}\n\ndata: [DONE]\n\n'
        )
        assert chunks_of(text) == [{"choices": []}, {"a": 1}]

    @pytest.mark.parametrize("text", ["", 'data: {"choices": []}\n\n', "data: {\n\ndata: [DONE]\n\n", "data: 1\n\n"])
    def test_a_stream_that_is_not_whole_fails(self, text: str) -> None:
        with pytest.raises(ServerFailed) as caught:
            chunks_of(text)
        assert caught.value.retry

    def test_a_done_without_an_empty_line_is_an_end(self) -> None:
        assert chunks_of("data: [DONE]") == []

    @pytest.mark.parametrize(
        "line", ['data: {"error": {"code": 500, "message": "no"}}', 'error: {"code": 500, "message": "no"}']
    )
    def test_an_error_inside_the_stream(self, line: str) -> None:
        reply = Reply()
        with pytest.raises(ServerFailed, match="no"):
            for chunk in chunks_of(f"{line}\n\ndata: [DONE]\n\n"):
                reply.add(chunk)

    def test_tool_calls_are_put_together_by_index(self) -> None:
        reply = Reply()
        for index, function in ((1, {"name": "b", "arguments": ""}), (0, {"name": "a"}), (1, {"arguments": '{"x"'}),
                                (0, {"arguments": "{}"}), (1, {"arguments": ": 1}"})):  # fmt: skip
            reply.add(
                {"choices": [{"delta": {"content": None, "tool_calls": [{"index": index, "function": function}]}}]}
            )
        reply.add({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
        reply.add({"choices": [], "usage": {"completion_tokens": 3}})
        assert reply.calls == {0: Call("a", "{}"), 1: Call("b", '{"x": 1}')}
        assert reply.finish_reason == "tool_calls"


class Ran:
    """A run of the program in a process of its own."""

    def __init__(self, script: Script, folder: Path, context: int = 32_768) -> None:
        self.root = folder / "work"
        (self.root / "tests").mkdir(parents=True, exist_ok=True)
        (self.root / "tests" / "__init__.py").touch()
        (folder / "task.md").write_text("Do it.")
        with ScriptedServer(script, context=context) as server:
            command = [sys.executable, "-I", "-B", program.__file__, str(folder / "task.md")]
            options = ["--url", f"{server.url}/v1", "--workspace", str(self.root)]
            done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=60, check=False)
        self.code, self.stderr, self.requests = done.returncode, done.stderr, server.requests
        self.events = [json.loads(line) for line in done.stdout.splitlines()]
        self.reason = self.events[-1].get("reason")

    @property
    def last_messages(self) -> list[dict[str, Any]]:
        return list(self.requests[-1]["messages"])


def valid_history(messages: list[dict[str, Any]]) -> bool:
    """What servers and chat templates accept: arguments are JSON objects, each result belongs to a call."""
    asked: list[str] = []
    for message in messages:
        assert isinstance(message["content"], str)
        for call in message.get("tool_calls", []):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            assert call["function"]["name"]
            asked.append(call["id"])
        if message["role"] == "tool":
            assert message["tool_call_id"] == asked.pop(0)
    return not asked


def test_a_whole_run_writes_files_and_finishes(tmp_path: Path) -> None:
    ran = Ran(solve({"pkg/a.py": "x = 1\n", "b.py": "y = 2\n"}), tmp_path)
    assert (ran.code, ran.stderr, ran.reason) == (0, "", "finish")
    assert (ran.root / "pkg" / "a.py").read_text() == "x = 1\n"
    assert [event["name"] for event in ran.events if event["event"] == "tool"] == [
        "list_files", "write_file", "write_file", "run", "finish",
    ]  # fmt: skip
    assert ran.requests[0]["messages"] == [
        {"role": "system", "content": program.SYSTEM_PROMPT},
        {"role": "user", "content": "Do it."},
    ]
    assert ran.requests[0]["tools"] == TOOLS
    assert valid_history(ran.last_messages)


def test_equal_replies_are_followed_by_equal_requests(tmp_path: Path) -> None:
    files = {"a.py": "x = 1\n"}
    first, second = Ran(solve(files), tmp_path / "1"), Ran(solve(files), tmp_path / "2")
    assert first.requests == second.requests


def test_broken_calls_never_go_back_broken(tmp_path: Path) -> None:
    ran = Ran(SCRIPTS["broken_calls"], tmp_path)
    assert ran.reason == "finish"
    assert all(valid_history(request["messages"]) for request in ran.requests)
    results = [message["content"] for message in ran.last_messages if message["role"] == "tool"]
    assert "not valid JSON" in results[0]
    assert "unknown tool" in results[1]
    assert "missing argument 'path'" in results[2]


def test_a_call_cut_by_the_token_limit_is_told_so(tmp_path: Path) -> None:
    def script(conversation: Conversation) -> Say:
        return use("write_file", path="a.py", content="x = 1\n" * 50_000) if conversation.step == 0 else finish()

    ran = Ran(script, tmp_path, context=2_000)
    assert not (ran.root / "a.py").exists()
    result = ran.requests[1]["messages"][-1]["content"]
    assert "not valid JSON" in result
    assert "cut off at its token limit" in result
    assert valid_history(ran.requests[1]["messages"])


def test_surrogates_and_nameless_calls_do_not_poison_the_history(tmp_path: Path) -> None:
    odd = Say(content="ok", calls=(Scripted("write_file", '{"path": "\\ud800", "content": ""}'), Scripted("", "{}")))
    ran = Ran(in_turn(odd, finish()), tmp_path)
    assert ran.reason == "finish"
    assert valid_history(ran.requests[1]["messages"])
    assert "\\ud8" not in json.dumps(ran.requests[1])


def test_silence_is_told_once_then_ends(tmp_path: Path) -> None:
    ran = Ran(SCRIPTS["talk"], tmp_path)
    assert (ran.code, ran.reason, len(ran.requests)) == (0, "silent", 2)
    assert ran.last_messages[-1] == {"role": "user", "content": program.GO_ON}


def test_a_tool_call_resets_the_silence(tmp_path: Path) -> None:
    talk = Say(content="Hm.")
    ran = Ran(in_turn(talk, use("list_files"), talk, use("list_files"), talk, talk), tmp_path)
    assert (ran.reason, len(ran.requests)) == ("silent", 6)


def test_a_reply_cut_in_reasoning_is_told_so(tmp_path: Path) -> None:
    ran = Ran(SCRIPTS["loop"], tmp_path, context=2_000)
    assert (ran.reason, len(ran.requests)) == ("silent", 3)
    assert ran.last_messages[-1]["content"] == program.CUT_OFF


def test_several_calls_in_one_reply_are_done_in_order(tmp_path: Path) -> None:
    calls = (
        Scripted("write_file", {"path": "a", "content": "1"}),
        Scripted("read_file", {"path": "a"}),
        Scripted("finish"),
    )
    ran = Ran(in_turn(Say(calls=calls)), tmp_path)
    assert [event["text"] for event in ran.events if event["event"] == "tool"] == ["wrote a, 1 lines", "1", "done"]


@pytest.mark.parametrize(
    ("script", "reason", "requests"),
    [("overflow", "server", 2), ("error_500", "server", 2), ("drop", "server", 3), ("error_in_stream", "server", 3),
     ("unparsed", "silent", 2), ("die", "server", 2)],
)  # fmt: skip
def test_trouble_with_the_server_ends_the_run(tmp_path: Path, script: str, reason: str, requests: int) -> None:
    ran = Ran(SCRIPTS[script], tmp_path)
    assert (ran.code, ran.stderr, ran.reason, len(ran.requests)) == (0, "", reason, requests)


def test_an_unparsed_reply_is_asked_again_in_other_words(tmp_path: Path) -> None:
    """The same request with the same seed would give the same reply."""
    ran = Ran(lambda c: SCRIPTS["unparsed"](c) if len(c.body["messages"]) == 2 else finish(), tmp_path)
    assert ran.reason == "finish"
    assert ran.last_messages[-1] == {"role": "user", "content": program.UNREADABLE}


def test_404_means_the_limit_is_reached(tmp_path: Path) -> None:
    ran = Ran(in_turn(use("list_files"), Say(status=404, error={"message": "over"})), tmp_path)
    assert (ran.code, ran.reason, len(ran.requests)) == (0, "limit", 2)


def test_events_stay_small(tmp_path: Path) -> None:
    ran = Ran(in_turn(Say("x" * 5_000, calls=(Scripted("n" * 5_000, "{}"),) * 20), finish()), tmp_path)
    assert ran.reason == "finish"
    assert max(len(json.dumps(event)) for event in ran.events) < 2_000
