"""The agent ``single``: its program in a process of its own, from the same archive as in a container."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentgrade.attempt.agents.single import Single, packed_program
from tests.scripted_server import LOOP, SCRIPTS, Say, Script, ScriptedServer, in_turn

DIFF = "--- a/pkg/a.py\n+++ b/pkg/a.py\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"


class Ran:
    """A run of the program on a small workspace."""

    def __init__(self, script: Script | str, folder: Path, context: int = 32_768) -> None:
        self.root = folder / "work"
        (self.root / "pkg").mkdir(parents=True)
        (self.root / "pkg" / "a.py").write_text("one\ntwo\n")
        (self.root / "picture.bin").write_bytes(b"\xff\x00")
        (folder / "task.md").write_text("Do it.")
        (folder / "single.pyz").write_bytes(packed_program())
        followed = in_turn(Say(content=script)) if isinstance(script, str) else script
        with ScriptedServer(followed, context=context) as server:
            command = [sys.executable, "-I", "-B", str(folder / "single.pyz"), str(folder / "task.md")]
            options = ["--url", f"{server.url}/v1", "--workspace", str(self.root)]
            done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=60, check=False)
        self.code, self.stderr, self.requests = done.returncode, done.stderr, server.requests
        self.events = [json.loads(line) for line in done.stdout.splitlines()]
        self.edits = [event for event in self.events if event["event"] == "edit"]
        self.end = self.events[-1]

    def text(self, path: str = "pkg/a.py") -> str:
        return (self.root / path).read_text()


def test_it_asks_once_without_tools_and_shows_the_files(tmp_path: Path) -> None:
    ran = Ran("pkg/a.py\n```\nthree\n```\n", tmp_path)
    assert (ran.code, ran.stderr, len(ran.requests)) == (0, "", 1)
    (request,) = ran.requests
    assert "tools" not in request and [message["role"] for message in request["messages"]] == ["system", "user"]
    shown = request["messages"][1]["content"]
    assert shown.startswith("Do it.\n") and "pkg/a.py\n````\none\ntwo\n````" in shown
    assert "picture.bin is no text file." in shown
    assert ran.text() == "three\n"
    assert ran.end == {"event": "end", "reason": "finish", "made": 1, "refused": 0}


@pytest.mark.parametrize(
    ("reply", "path", "expected"),
    [
        ("pkg/a.py\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n", "pkg/a.py", "one\n2\n"),
        (f"```diff\n{DIFF}```", "pkg/a.py", "one\n2\n"),
        (DIFF, "pkg/a.py", "one\n2\n"),
        ("new/b.py\n<<<<<<< SEARCH\n=======\nb\n>>>>>>> REPLACE\n", "new/b.py", "b\n"),
        ("--- /dev/null\n+++ b/c.py\n@@ -0,0 +1 @@\n+c\n", "c.py", "c\n"),
    ],
)
def test_each_form_of_an_edit_is_made(tmp_path: Path, reply: str, path: str, expected: str) -> None:
    ran = Ran(reply, tmp_path)
    assert [event["ok"] for event in ran.edits] == [True], ran.edits
    assert ran.text(path) == expected


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("pkg/a.py\n<<<<<<< SEARCH\nthree\n=======\n3\n>>>>>>> REPLACE\n", "occurs 0 times"),
        ("pkg/a.py\n<<<<<<< SEARCH\n=======\n3\n>>>>>>> REPLACE\n", "the file is not"),
        ("pkg/b.py\n<<<<<<< SEARCH\nthree\n=======\n3\n>>>>>>> REPLACE\n", "no such file"),
        ("```diff\n--- a/pkg/a.py\n+++ b/pkg/a.py\n@@ -1 +1 @@\n-two\n+2\n```", "does not match"),
        ("```diff\n--- a/no.py\n+++ b/no.py\n@@ -1 +1 @@\n-two\n+2\n```", "not there"),
        ("../out.py\n```\nx\n```", "outside the workspace"),
        ("pkg/a.py\n```\none\n", "no end"),
    ],
)
def test_an_edit_that_does_not_fit_is_told_and_changes_nothing(tmp_path: Path, reply: str, why: str) -> None:
    ran = Ran(reply, tmp_path)
    assert [(event["ok"], why in event["text"]) for event in ran.edits] == [(False, True)], ran.edits
    assert ran.text() == "one\ntwo\n" and not (tmp_path / "out.py").exists()
    assert (ran.end["made"], ran.end["refused"]) == (0, 1)


def test_a_good_edit_is_made_beside_a_bad_one(tmp_path: Path) -> None:
    ran = Ran("no.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\npkg/a.py\n```\nthree\n```\n", tmp_path)
    assert ran.text() == "three\n" and (ran.end["made"], ran.end["refused"]) == (1, 1)


def test_a_path_in_a_link_out_of_the_workspace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "link").symlink_to(tmp_path)
    ran = Ran("link/out.py\n```\nx\n```\n", tmp_path)
    assert not (tmp_path / "out.py").exists() and ran.end["refused"] == 1


def test_a_reply_cut_by_its_limit_is_no_finish(tmp_path: Path) -> None:
    ran = Ran(f"pkg/a.py\n```\n{LOOP * 2_000}\n```\n", tmp_path, context=1_000)
    assert ran.end["reason"] == "cut" and ran.text() == "one\ntwo\n"
    assert Single().finished([]) is None


@pytest.mark.parametrize(("script", "asked"), [("error_500", 2), ("unparsed", 1)])
def test_a_server_in_trouble_ends_it(tmp_path: Path, script: str, asked: int) -> None:
    ran = Ran(SCRIPTS[script], tmp_path)
    assert (ran.code, ran.end["reason"], len(ran.requests)) == (0, "server", asked)


def test_404_means_the_limit_is_reached(tmp_path: Path) -> None:
    ran = Ran(in_turn(Say(status=404, error={"message": "over"})), tmp_path)
    assert (ran.code, ran.end["reason"], len(ran.requests)) == (0, "limit", 1)


def test_the_archive_is_the_same_every_time() -> None:
    assert packed_program() == packed_program()
