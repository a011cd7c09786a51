"""What is seen while a run is under way: which attempt of how many, at once, each on a line of its own."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.graded import QUIET_PLUGINS, run_pytest, scripted_mode, start_pytest, write_settings
from tests.scripted_server import SCRIPTS, Conversation, Say, ScriptedServer, finish

GRADE = ("--agent-task=csv_ledger", "--agent-seed=1", "-k", "plain_rows or any_size", *QUIET_PLUGINS)
TALKATIVE = """
import pytest
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    from pytest_agentgrade import plugin
    item.config.stash[plugin._SESSION]._narrate("waiting: said in the middle of a check")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with ScriptedServer(SCRIPTS["idle"]) as server:
        write_settings(tmp_path, scripted_mode(server.url, "one") + scripted_mode(server.url, "two"))
        yield tmp_path


@pytest.mark.parametrize("verbose", [(), ("-v",)])
def test_each_attempt_has_a_line_with_its_number(folder: Path, verbose: tuple[str, ...]) -> None:
    (folder / "talkative.py").write_text(TALKATIVE)
    plugin = ("-p", "talkative")
    done = run_pytest(folder, "--agent-mode=one,two", *GRADE, *plugin, *verbose, env={"COLUMNS": "80"})
    told = re.findall(r"^(attempt .*|waiting: .*)$", done.output, re.MULTILINE)
    numbered = [
        re.fullmatch(r"attempt (\d) of 2, csv_ledger\[(one|two)-1\]: agent has 480 s", line)
        for line in told
        if line.startswith("attempt")
    ]
    assert [match and match[1] for match in numbered] == ["1", "2"], done.output
    assert told.count("waiting: said in the middle of a check") == 4, "nothing stands before or behind it"
    assert all(len(line) <= 80 for line in told)


def test_quiet_is_quiet(folder: Path) -> None:
    done = run_pytest(folder, "--agent-mode=one", *GRADE, "-q")
    assert "attempt 1 of" not in done.output and done.output.splitlines()[0].startswith(".F"), done.output


def test_workers_tell_the_controller(folder: Path) -> None:
    done = run_pytest(folder, "--agent-mode=one,two", *GRADE, "-n", "2")
    told = re.findall(r"^attempt \d of 2, csv_ledger\[(?:one|two)-1\]: being judged$", done.output, re.MULTILINE)
    assert [line[:14] for line in told] == ["attempt 1 of 2", "attempt 2 of 2"], done.output


def test_a_log_that_is_no_terminal_gets_the_line_while_the_agent_works(tmp_path: Path) -> None:
    seen = threading.Event()

    def script(_conversation: Conversation) -> Say:
        return finish("it was seen" if seen.wait(60) else "nobody saw anything")

    with ScriptedServer(script) as server:
        write_settings(tmp_path, scripted_mode(server.url, "one"))
        process = start_pytest(tmp_path, "--agent-mode=one", *GRADE)
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("attempt 1 of 1"):
                seen.set()
        assert process.wait() == 1
        process.stdout.close()
    asked = server.requests
    assert seen.is_set() and asked
    (reply,) = tmp_path.glob("agentgrade-runs/*/attempts/*/*/exchanges.jsonl")
    assert "it was seen" in reply.read_text() and "nobody" not in reply.read_text()
