"""Keys of a server: it gets them, and they are found nowhere else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.graded import PROJECT, QUIET_PLUGINS, Graded, run_pytest, scripted_mode, write_settings
from tests.scripted_server import SCRIPTS, ScriptedServer

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
