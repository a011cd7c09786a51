"""What survives a kill, what is judged again, and what is never counted."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from pytest_agentgrade.sandbox.engine import connect
from pytest_agentgrade.sandbox.owner import Owner, owner_of
from tests.graded import PROJECT, QUIET_PLUGINS, run_pytest, scripted_mode, start_pytest, wait_for, write_settings
from tests.scripted_server import ScriptedServer, references, slow, solve

TASK = "sqlite_transfers"
FILES = references(PROJECT / "task_fixtures", PROJECT / "hidden_checks")
ONE_CHECK = "test_moves_the_amount_and_records_it"


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    connected = connect()
    yield connected
    connected.close()


def owned_by(client: docker.DockerClient, pid: int) -> list[str]:
    """Containers and volumes that a process made."""
    things = [(item.name, item.labels) for item in client.containers.list(all=True, ignore_removed=True)]
    things += [(item.name, item.attrs["Labels"] or {}) for item in client.volumes.list()]
    owners: list[tuple[str, Owner | None]] = [(name, owner_of(labels)) for name, labels in things]
    return [name for name, owner in owners if owner is not None and owner.pid == pid]


def test_kill_9_leaves_nothing_behind_and_the_run_can_be_resumed(tmp_path: Path, client: docker.DockerClient) -> None:
    arguments = (
        "--agent-mode=first,second", f"--agent-task={TASK}", "--agent-seed=1", "--agent-run-dir=run", "-k", ONE_CHECK,
        *QUIET_PLUGINS,
    )  # fmt: skip
    run = tmp_path / "run"
    attempts = run / "attempts" / TASK
    with ScriptedServer(solve(FILES)) as quick, ScriptedServer(slow(FILES, tokens_per_second=2)) as stuck:
        modes = scripted_mode(quick.url, "first") + scripted_mode(stuck.url, "second")
        write_settings(tmp_path, f"task_seconds = 120\n{modes}")
        process = start_pytest(tmp_path, *arguments)
        assert wait_for(lambda: (attempts / "second-1" / "exchanges.jsonl").exists(), 120)
        assert wait_for(lambda: stuck.requests, 60)
        assert owned_by(client, process.pid)
        before = (attempts / "first-1" / "4-submission.json").read_bytes()
        kill(process)
        assert wait_for(lambda: not owned_by(client, process.pid), 30), owned_by(client, process.pid)
        stuck.script = solve(FILES)
        done = run_pytest(tmp_path, *arguments)
    assert done.code == 0, done.output
    assert (attempts / "first-1" / "4-submission.json").read_bytes() == before
    assert (attempts / "second-1.try1" / "exchanges.jsonl").exists(), "what was begun is kept"
    assert len(quick.requests) < 2 * len(stuck.requests), "the finished attempt did not run again"


def test_no_process_outlives_a_killed_run(tmp_path: Path) -> None:
    """The embedded server is a process of this machine: it goes with its run."""
    write_settings(tmp_path, "task_seconds = 120\ncontext = 4096\nresponse_tokens = 1024\n")
    process = start_pytest(
        tmp_path, "--agent-mode=mtp", f"--agent-task={TASK}", "--agent-seed=1", "-k", ONE_CHECK, *QUIET_PLUGINS
    )
    pattern = tmp_path / "agentgrade-runs"
    assert wait_for(lambda: list(pattern.glob("*/attempts/*/mtp-1/2-server.json")), 120)
    (phase,) = pattern.glob("*/attempts/*/mtp-1/2-server.json")
    port = phase.read_text().rpartition('"--port",')[2].split('"')[1]
    assert _servers(port)
    kill(process)
    assert wait_for(lambda: not _servers(port), 15)


def _servers(port: str) -> str:
    done = subprocess.run(["pgrep", "-f", f"attempt.server.embedded.*--port {port}"], capture_output=True, text=True)
    return done.stdout.strip()


def test_another_runs_settings_are_refused_before_anything_starts(tmp_path: Path) -> None:
    write_settings(tmp_path, scripted_mode("http://127.0.0.1:9"))
    arguments = ("--agent-mode=scripted", f"--agent-task={TASK}", "--agent-run-dir=run", *QUIET_PLUGINS)
    run_pytest(tmp_path, *arguments, "-k", "no such check")
    done = run_pytest(tmp_path, *arguments, "--agent-task-seconds=5")
    assert done.code == pytest.ExitCode.USAGE_ERROR
    assert "holds a run made with other settings: task_seconds" in done.output


def test_a_server_that_is_not_there_is_an_error_of_every_check_and_counts_for_nothing(tmp_path: Path) -> None:
    write_settings(tmp_path, scripted_mode("http://127.0.0.1:9"))
    done = run_pytest(
        tmp_path, "--agent-mode=scripted", f"--agent-task={TASK}", "--agent-seed=1", "--agent-exit=measure",
        "--tb=line", *QUIET_PLUGINS,
    )  # fmt: skip
    assert done.code == pytest.ExitCode.TESTS_FAILED and " failed" not in done.output.splitlines()[-1]
    (record,) = done.records.values()
    assert record.fault is not None and record.fault.fault == "host" and record.fault.retried == 1
    assert not record.complete and not record.verdicts
    assert "1 ended by a fault that is not the model's" in done.output


def test_some_checks_are_never_a_score_and_the_rest_can_be_judged_later(tmp_path: Path) -> None:
    with ScriptedServer(solve(FILES)) as server:
        write_settings(tmp_path, scripted_mode(server.url))
        plain = ("--agent-mode=scripted", f"--agent-task={TASK}", "--agent-seed=1", "-p", "no:randomly")
        first = run_pytest(tmp_path, *plain, "-k", ONE_CHECK)
        asked = len(server.requests)
        (record,) = first.records.values()
        assert not record.complete and len(record.verdicts) == 1
        assert "1 not judged by all ten checks" in first.output
        identity = f"hidden_checks/{TASK}/test_{TASK}.py::{ONE_CHECK}[scripted-1]"
        again = run_pytest(tmp_path, *plain, identity)
        assert again.code == 0 and "1 passed" in again.output
        whole = run_pytest(tmp_path, f"--agent-run-dir={first.run.folder}", "-p", "no:randomly")
        assert len(server.requests) == asked, "the agent never ran again"
    (record,) = whole.records.values()
    assert record.complete and record.delivers and whole.code == 0
    told = f"agentgrade: going on with {first.run.folder.name}; attempts made already: 1 of 1"
    assert told in whole.output and "going on with" not in first.output
