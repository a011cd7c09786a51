"""Keys of a server: it gets them, and they are found nowhere else."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.graded import PROJECT, QUIET_PLUGINS, Graded, run_pytest, scripted_mode, write_settings
from tests.scripted_server import SCRIPTS, Say, ScriptedServer

KEY = "sk-7hT9qLwZ3v"
BINARY = """#!{python}
import sys
if sys.argv[1:] == ["--version"]:
    sys.exit("version: 1 (scripted)")
if sys.argv[1:] == ["--help"]:
    print("-m, --model FNAME\\n--host HOST\\n--port PORT\\n-c, --ctx-size N\\n--api-key KEY\\n--metrics\\n--slots")
    sys.exit()
print("started with", sys.argv[1:], flush=True)
sys.path.insert(0, {project!r})
from tests.scripted_server import main
given = dict(zip(sys.argv, sys.argv[1:]))
sys.argv[1:] = ["--script=idle", "--port", given["--port"], "--api-key", given["--api-key"]]
main()
"""
AGENT = """agent = "command"
task_seconds = 20
agent_command = ["sh", "-c", "env; echo $OPENAI_API_KEY $1 >&2; echo $OPENAI_API_KEY $1", "sh", "--api-key=ck-{key}"]
agent_env = {{ OPENAI_API_KEY = "ak-{key}" }}
"""
GRADE = ("--agent-mode=keyed", "--agent-task=csv_ledger", "--agent-seed=1", "-k", "plain_rows", *QUIET_PLUGINS)


def places_of_the_key(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(str(path.relative_to(folder)) for path in files if KEY.encode() in path.read_bytes())


def asked_the_server(done: Graded) -> bool:
    (record,) = done.run.records()
    return record.agent is not None and record.agent.requests > 1 and record.fault is None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    program = tmp_path / "llama-server"
    program.write_text(BINARY.format(python=sys.executable, project=str(PROJECT)))
    program.chmod(0o755)
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    keyed = f'server = "{program}"\nserver_args = ["--api-key", "{KEY}"]\n'
    write_settings(tmp_path, f'model = "model.gguf"\n[modes.keyed]\n{keyed}')
    return tmp_path


def test_a_key_among_the_flags_reaches_the_server_and_no_record(folder: Path) -> None:
    done = run_pytest(folder, *GRADE, "--junitxml=junit.xml", "--agent-report=page.html")
    assert asked_the_server(done), done.output
    log = (done.run.folder / "attempts" / "csv_ledger" / "keyed-1" / "server.log").read_text()
    assert "started with" in log and "'--api-key', '(hidden)'" in log
    assert places_of_the_key(folder) == ["agentgrade.toml"] and KEY not in done.output
    assert "--api-key (hidden)" in (folder / "page.html").read_text().replace("&#39;", "'").replace("'", "")

    again = run_pytest(folder, f"--agent-run-dir={done.run.folder}", *QUIET_PLUGINS, "-k", "exact_at_any_size")
    assert "1 deselected" in again.output or asked_the_server(again), again.output
    write_settings(folder, (folder / "agentgrade.toml").read_text().replace(KEY, "other"))
    other = run_pytest(folder, f"--agent-run-dir={done.run.folder}", "--collect-only", "-q", *QUIET_PLUGINS)
    assert other.code == 0, "another key changes nothing that is measured"
    write_settings(folder, "")
    done = run_pytest(folder, f"--agent-run-dir={done.run.folder}", *QUIET_PLUGINS)
    assert done.code == 4 and "modes.keyed: server_args held a key, which is never stored" in done.output, done.output


def test_a_key_given_to_the_agent_is_in_no_record_even_if_the_agent_prints_it(tmp_path: Path) -> None:
    with ScriptedServer(SCRIPTS["idle"]) as server:
        write_settings(tmp_path, AGENT.format(key=KEY) + scripted_mode(server.url, "keyed"))
        done = run_pytest(tmp_path, *GRADE, "--junitxml=junit.xml", "--agent-report=page.html", "-vv", "--showlocals")
    said = done.run.folder / "attempts" / "csv_ledger" / "keyed-1"
    assert "OPENAI_API_KEY=(hidden)" in (said / "agent.stdout").read_text()
    assert (said / "agent.stderr").read_text().strip() == "(hidden) --api-key=(hidden)"
    assert places_of_the_key(tmp_path) == ["agentgrade.toml"] and KEY not in done.output


def test_no_traceback_with_local_variables_shows_a_key(folder: Path) -> None:
    dead = (folder / "llama-server").read_text().replace("sys.path.insert", "sys.exit(3)\nsys.path.insert")
    (folder / "llama-server").write_text(dead)
    write_settings(folder, AGENT.format(key=KEY) + (folder / "agentgrade.toml").read_text())
    shown = ("--showlocals", "--tb=long", "-vv", "--junitxml=junit.xml")
    done = run_pytest(folder, *GRADE, *shown, env={"AGENTGRADE_API_KEY": f"uk-{KEY}"})
    assert done.code == 1 and "server_args=('--api-key', '(hidden)')" in done.output, done.output
    assert places_of_the_key(folder) == ["agentgrade.toml"] and KEY not in done.output


def test_a_server_that_repeats_a_key_it_does_not_know_tells_nobody(tmp_path: Path) -> None:
    script = """import http.client, json
c = http.client.HTTPConnection("127.0.0.1", 8080)
c.request("POST", "/v1/chat/completions", json.dumps({"messages": [{"role": "user", "content": "x"}]}))
print(c.getresponse().read().decode())"""
    command = ", ".join(json.dumps(word) for word in ("python3", "-c", script.replace("{", "{{").replace("}", "}}")))
    refused = Say(status=401, error={"error": {"message": f"Incorrect API key provided: {KEY}", "type": "auth"}})
    with ScriptedServer(lambda _: refused, api_key=KEY) as server:
        agent = f'agent = "command"\nagent_command = [{command}]\n'
        write_settings(tmp_path, agent + scripted_mode(server.url, "keyed"))
        done = run_pytest(tmp_path, *GRADE, env={"AGENTGRADE_API_KEY": KEY})
    said = (done.run.folder / "attempts" / "csv_ledger" / "keyed-1" / "agent.stdout").read_text()
    assert "Incorrect API key provided: (hidden)" in said, done.output
    assert places_of_the_key(tmp_path) == [] and KEY not in done.output


def test_the_key_of_a_server_that_runs_already_comes_from_the_environment(tmp_path: Path) -> None:
    with ScriptedServer(SCRIPTS["idle"], api_key=KEY) as server:
        write_settings(tmp_path, scripted_mode(server.url, "keyed"))
        done = run_pytest(tmp_path, *GRADE, "--junitxml=junit.xml", env={"AGENTGRADE_API_KEY": KEY})
        assert asked_the_server(done) and server.requests, done.output
    assert places_of_the_key(tmp_path) == [] and KEY not in done.output


def test_a_password_in_a_url_is_refused_and_not_repeated(tmp_path: Path) -> None:
    write_settings(tmp_path, scripted_mode(f"http://me:{KEY}@127.0.0.1:9", "keyed"))
    done = run_pytest(tmp_path, *GRADE)
    assert done.code == 4 and "AGENTGRADE_API_KEY" in done.output and KEY not in done.output, done.output
