"""Calls that nobody recommends: each ends in one line, or does what pytest does."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentgrade.records.finding import newest_run
from tests.graded import PROJECT, QUIET_PLUGINS, run_pytest, scripted_mode, write_settings
from tests.scripted_server import SCRIPTS, ScriptedServer

PATCH = "diff --git a/expiring_cache/zz.py b/expiring_cache/zz.py\nnew file mode 100644\n--- /dev/null\n" + (
    "+++ b/expiring_cache/zz.py\n@@ -0,0 +1 @@\n+x = 1\n"
)
COLLECT = ("--agent-patches=patches", "--collect-only", "-q", *QUIET_PLUGINS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches" / "expiring_cache.patch").write_text(PATCH)
    return tmp_path


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--agent-mode=", "names no mode"),
        ("--agent-mode=a,a", "names a mode twice"),
        ("--agent-mode=a/b", "mode name 'a/b'"),
        ("--agent-task-seconds=inf", "task_seconds = inf cannot be used"),
        ("--agent-seed=1,,2", "--agent-seed=1,,2 cannot be read"),
        ("--assert=plain", "hides what a check compared"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(folder: Path, argument: str, message: str) -> None:
    done = run_pytest(folder, *COLLECT, argument)
    assert done.code == 4 and message in done.output and "Traceback" not in done.output, done.output


def test_asserts_must_be_rewritten(folder: Path) -> None:
    done = run_pytest(folder, *COLLECT, "-p", "no:assertion")
    assert done.code == 4 and "hides what a check compared" in done.output


def test_a_task_named_twice_runs_once(folder: Path) -> None:
    done = run_pytest(folder, *COLLECT, "--agent-task=expiring_cache,expiring_cache", "--agent-seed=1")
    assert "14 tests collected" in done.output


def test_it_works_without_a_terminal(folder: Path) -> None:
    done = run_pytest(folder, "--agent-patches=patches", "--collect-only", "-p", "no:terminal")
    assert done.code == 0 and not done.output, done.output


@pytest.mark.parametrize("looking", ["--fixtures", "--fixtures-per-test", "--cache-show", "--setup-plan", "--co"])
def test_who_only_looks_begins_no_run(folder: Path, looking: str) -> None:
    done = run_pytest(folder, "--agent-patches=patches", "-k", "nothing_else_waits", looking, "-p", "no:randomly")
    assert done.code == 0, done.output
    assert not (folder / "agentgrade-runs").exists() and "patches/" not in done.output


def test_tasks_elsewhere_are_found_however_their_place_is_written(tmp_path: Path) -> None:
    (tmp_path / "stand").mkdir()
    (tmp_path / "link").symlink_to(PROJECT)
    write_settings(tmp_path / "stand", 'tasks_dir = "../link/task_fixtures"\nchecks_dir = "../link/hidden_checks"\n')
    done = run_pytest(
        tmp_path / "stand", "--agent-mode=mtp", "--agent-task=csv_ledger", "--co", "-q", "-k", "plain_rows",
        *QUIET_PLUGINS,
    )  # fmt: skip
    assert "hidden_checks/csv_ledger/test_csv_ledger.py::test_plain_rows" in done.output, done.output


def test_paths_on_the_command_line_are_meant_from_where_one_stands(folder: Path) -> None:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "sub" / "mine").mkdir(parents=True)
    (folder / "sub" / "mine" / "expiring_cache.patch").write_text(PATCH)
    done = run_pytest(folder / "sub", "--agent-patches=mine", "--co", "-q", "--agent-seed=1", *QUIET_PLUGINS)
    assert "14 tests collected" in done.output, done.output


def test_a_preset_does_not_run_among_a_candidates_files() -> None:
    inside = PROJECT / "task_fixtures" / "csv_ledger" / "workspace"
    done = run_pytest(inside, "--agent-preset=study-2026-10", "--co", "-q", *QUIET_PLUGINS)
    assert done.code == 4 and "which holds a candidate's files" in done.output


def test_what_the_host_lacks_is_said_before_anything_starts(folder: Path) -> None:
    nothing = {"DOCKER_HOST": f"unix://{folder}/none.sock"}
    done = run_pytest(folder, "--agent-patches=patches", *QUIET_PLUGINS, env=nothing)
    assert done.code == 4 and "no Docker engine answers" in done.output and "Traceback" not in done.output, done.output
    assert not (folder / "agentgrade-runs").exists()


def test_an_agent_without_its_image_is_said_before_anything_starts(folder: Path) -> None:
    write_settings(folder, 'agent = "opencode"\nagent_version = "1.18.0"\n[modes.m]\nserver = "http://127.0.0.1:9"\n')
    done = run_pytest(folder, "--agent-mode=m", *QUIET_PLUGINS)
    hint = "is not on this engine - run `agentgrade setup --agent opencode --agent-version 1.18.0`"
    assert done.code == 4 and hint in done.output, done.output
    assert not (folder / "agentgrade-runs").exists()


def test_colours_of_the_terminal_do_not_reach_the_records(folder: Path) -> None:
    arguments = ("--agent-patches=patches", "--agent-seed=1", "--color=yes", "-vv")
    done = run_pytest(folder, *arguments, "--junitxml=junit.xml", *QUIET_PLUGINS)
    assert "\x1b[" in done.output
    reasons = [verdict.reason for record in done.run.records() for verdict in record.verdicts if verdict.reason]
    assert reasons and not [reason for reason in reasons if "x1b" in reason]
    assert "x1b" not in (folder / "junit.xml").read_text(encoding="utf-8").lower()


def test_a_runtime_that_the_engine_does_not_know_is_said_before_anything_starts(folder: Path) -> None:
    done = run_pytest(folder, "--agent-patches=patches", "--agent-runtime=foo", *QUIET_PLUGINS)
    assert done.code == 4 and "the Docker engine knows no runtime 'foo' - it knows " in done.output, done.output


def test_a_model_that_is_none_is_said_before_anything_starts(folder: Path) -> None:
    (folder / "x.gguf").write_text("hi")
    done = run_pytest(folder, "--agent-mode=mtp", "--agent-model=x.gguf", *QUIET_PLUGINS)
    assert done.code == 4 and "is no GGUF file" in done.output, done.output


def test_what_is_left_undone_says_how_to_go_on_and_is_not_the_newest_run(folder: Path) -> None:
    arguments = ("--agent-patches=patches", "--agent-seed=1", *QUIET_PLUGINS)
    partly = run_pytest(folder, *arguments, "-k", "test_iteration")
    assert "not finished; to go on: pytest --agent-run-dir=agentgrade-runs/" in partly.output, partly.output
    (first,) = (folder / "agentgrade-runs").iterdir()
    assert run_pytest(folder, *arguments, "nosuch.py").code == 4
    assert newest_run(folder) == first


def test_settings_of_the_wrong_file_are_told(folder: Path) -> None:
    write_settings(folder, "[tool.agentgrade]\nseeds = [1]\n")
    done = run_pytest(folder, *COLLECT)
    assert done.code == 4 and "[tool.agentgrade] is for pyproject.toml - here the names" in done.output, done.output


def test_a_running_server_with_too_small_a_context_is_said_before_anything_starts(folder: Path) -> None:
    with ScriptedServer(SCRIPTS["idle"], context=8192) as server:
        write_settings(folder, scripted_mode(server.url, "mine"))
        done = run_pytest(folder, "--agent-mode=mine", *QUIET_PLUGINS)
        told = f"response_tokens = 8192 leaves no room for a prompt: the server at {server.url} (mode mine) has a "
        assert done.code == 4 and f"{told}context of 8192 tokens - write response_tokens = 2048" in done.output
        assert not (folder / "agentgrade-runs").exists() and not server.requests
        assert run_pytest(folder, *COLLECT, "--agent-context=512").code == 0, "patches need no server"


def test_a_response_that_may_take_most_of_the_context_is_told(folder: Path) -> None:
    arguments = ("--agent-mode=mtp", "--collect-only", *QUIET_PLUGINS)
    large = run_pytest(folder, *arguments, "--agent-response-tokens=4096,20000")
    told = "agentgrade: one response may take 20000 of 32768 tokens of context: all that came before has the rest"
    assert told in large.output, large.output
    assert "tokens of context" not in run_pytest(folder, *arguments).output
