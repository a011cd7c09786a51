"""Agents beside the built-in loop, chosen by name: one completion, any command, one from a plugin's hook."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.graded import PROJECT, QUIET_PLUGINS, Graded, run_pytest, scripted_mode, write_settings
from tests.scripted_server import Conversation, Say, Script, ScriptedServer, references

TASK = "sqlite_transfers"
REFERENCE = references(PROJECT / "task_fixtures", PROJECT / "hidden_checks")
ONE_PLACE = "sqlite_transfers/transfers.py"


def the_files(conversation: Conversation) -> dict[str, str]:
    return dict(REFERENCE(conversation.task))


def as_whole_files(conversation: Conversation) -> Say:
    blocks = (f"{path}\n````python\n{text}````\n" for path, text in the_files(conversation).items())
    return Say(content="Here is the change.\n\n" + "\n".join(blocks))


def as_the_file_alone(conversation: Conversation) -> Say:
    return Say(content=the_files(conversation)[ONE_PLACE])


def graded(folder: Path, script: Script, settings: str, *arguments: str, supports_tools: bool = False) -> Graded:
    with ScriptedServer(script, supports_tools=supports_tools) as server:
        write_settings(folder, "task_seconds = 120\nseeds = [4242]\n" + scripted_mode(server.url, "m", settings))
        return run_pytest(
            folder, "--agent-mode=m", f"--agent-task={TASK}", "--agent-exit=measure", *QUIET_PLUGINS, "--tb=short",
            *arguments,
        )  # fmt: skip


def the_solution(run: Graded, agent: str) -> None:
    (record,) = run.records.values()
    assert record.delivers and record.agent is not None and record.submission is not None, run.output
    assert record.agent.agent == agent and record.agent.requests == 1
    assert [ending.ending for ending in record.submission.endings] == ["finished"]


def test_one_completion_delivers_without_tools(tmp_path: Path) -> None:
    run = graded(tmp_path, as_whole_files, "", "--agent-name=single")
    the_solution(run, "single")
    stdout = next(run.run.folder.glob("attempts/*/*/agent.stdout")).read_text()
    assert '"ok": true' in stdout and ONE_PLACE in stdout


CLIENT = """
import json, os, pathlib, sys, urllib.request
url, model, prompt, workspace = sys.argv[1:]
message = {"role": "user", "content": pathlib.Path(prompt).read_text()}
body = json.dumps({"model": model, "messages": [message]}).encode()
request = urllib.request.Request(url + "/chat/completions", body, {"Content-Type": "application/json"})
reply = json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
pathlib.Path(workspace, os.environ["TARGET"]).write_text(reply)
pathlib.Path.home().joinpath("session.log").write_text("done")
"""


def test_any_command_delivers(tmp_path: Path) -> None:
    words = [
        "python3",
        "-c",
        CLIENT.replace("{", "{{").replace("}", "}}"),
        "{endpoint}",
        "{model}",
        "{prompt_file}",
        "{workspace}",
    ]
    listed = ", ".join(f"'''{word}'''" for word in words)
    settings = f'agent = "command"\nagent_command = [{listed}]\nagent_env = {{ TARGET = "{ONE_PLACE}" }}\n'
    run = graded(tmp_path, as_the_file_alone, settings)
    the_solution(run, "command")


def test_the_example_of_the_docs_delivers(tmp_path: Path) -> None:
    """docs/agents.md: the whole agent of a plugin."""
    (example,) = re.findall(r"```python\n(.*?)```", (PROJECT / "docs" / "agents.md").read_text(), re.S)
    (tmp_path / "conftest.py").write_text(example)
    run = graded(tmp_path, as_the_file_alone, "", "--agent-name=one-file")
    the_solution(run, "one-file")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--agent-name=singel",), "did you mean 'single'?"),
        (("--agent-name=command",), "needs the setting agent_command"),
    ],
)
def test_what_cannot_run_is_told_before_anything_starts(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = run_pytest(tmp_path, "--agent-mode=baseline", *arguments, *QUIET_PLUGINS)
    assert done.code == 4 and said in done.output, done.output
    assert not (tmp_path / "agentgrade-runs").exists()


def test_an_agent_that_calls_tools_is_told_when_the_model_cannot(tmp_path: Path) -> None:
    run = graded(tmp_path, as_whole_files, "", "--agent-name=toolloop", "-x")
    assert run.code == 1 and "agent toolloop needs them" in run.output, run.output
    (record,) = run.records.values()
    assert record.agent is None and record.fault is not None
