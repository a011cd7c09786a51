"""Without ``--agent-mode`` the plugin changes nothing; with a broken one it says so in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graded import PROJECT, QUIET_PLUGINS, run_pytest, write_settings


def test_hidden_checks_collect_nothing() -> None:
    done = run_pytest(PROJECT, "--collect-only", "-q", "hidden_checks", *QUIET_PLUGINS)
    assert done.code == pytest.ExitCode.NO_TESTS_COLLECTED and "::" not in done.output


def test_a_check_named_by_its_id_does_not_run_either() -> None:
    path = "hidden_checks/expiring_cache/test_expiring_cache.py"
    done = run_pytest(PROJECT, "-q", f"{path}::test_anything", *QUIET_PLUGINS)
    assert done.code == pytest.ExitCode.USAGE_ERROR and "not found" in done.output


def test_a_users_tests_run_as_ever_beside_a_broken_settings_file(tmp_path: Path) -> None:
    write_settings(tmp_path, "this is no toml")
    (tmp_path / "test_mine.py").write_text("def test_mine():\n    pass\n")
    done = run_pytest(tmp_path, "-q", *QUIET_PLUGINS)
    assert done.code == 0 and "1 passed" in done.output and "agentgrade" not in done.output


def test_a_users_own_hidden_checks_folder_is_none_of_our_business(tmp_path: Path) -> None:
    folder = tmp_path / "hidden_checks" / "mine"
    folder.mkdir(parents=True)
    (folder / "test_mine.py").write_text("def test_mine():\n    pass\n")
    assert "1 passed" in run_pytest(tmp_path, "-q", *QUIET_PLUGINS).output


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_and_version_survive_any_mistake(tmp_path: Path, flag: str) -> None:
    write_settings(tmp_path, "this is no toml")
    done = run_pytest(tmp_path, flag, "--agent-mode=nonsense", "--agent-seed=x")
    assert done.code == 0 and "Traceback (most recent" not in done.output
    assert ("--agent-mode" in done.output) == (flag == "--help")


MISTAKES = [
    (("--agent-mode=mpt",), "unknown mode 'mpt' - did you mean 'mtp'?"),
    (("--agent-mode=",), "names no mode"),
    (("--agent-mode=mtp,mtp",), "names a mode twice"),
    (("--agent-mode=mtp", "--agent-task=expiring_cash"), "unknown task 'expiring_cash' - did you mean 'expiring_c"),
    (("--agent-mode=mtp", "--agent-seed=4242,x"), "--agent-seed=4242,x cannot be read"),
    (("--agent-mode=mtp", "--agent-seed=1,1"), "names a value twice - use --agent-repeat"),
    (("--agent-mode=mtp", "--agent-repeat=0"), "--agent-repeat: repeats = 0 cannot be used"),
    (("--agent-mode=mtp", "--agent-response-tokens=-1"), "--agent-response-tokens: response_tokens = -1"),
    (("--agent-mode=mtp", "--agent-context=8192"), "response_tokens = 8192 (default) leaves no room for a prompt in"),
    (("--agent-mode=mtp", "--agent-response-tokens=10,99999"), "write response_tokens = 8192, or context = 399996"),
    (("--agent-mode=mtp", "--agent-draws=nowhere/key"), "/nowhere - make it, or name another file"),
    (("--agent-mode=mtp", "--agent-report=nowhere/x.html"), "/nowhere - make it, or name another file"),
    (("--agent-mode=mtp", "--agent-task-seconds=nan"), "--agent-task-seconds: task_seconds = nan"),
    (("--agent-mode=mtp", "--agent-task-seconds=soon"), "--agent-task-seconds=soon cannot be read"),
    (("--agent-mode=mtp", "--agent-exit=0"), "--agent-exit: exit = '0' cannot be used"),
    (("--agent-mode=mtp", "--agent-model=missing.gguf"), "missing.gguf of mode mtp is not a file"),
    (("--agent-mode=mtp", "--agent-server=no-such-server"), "'no-such-server' is no program that can be run"),
    (("--agent-mode=mtp", "--agent-server=http://127.0.0.1:9"), "but its server http://127.0.0.1:9 runs already"),
    (("--agent-patches=nowhere",), "nowhere is not a folder"),
    (("--agent-patches=.",), "holds no patch"),
    (("--agent-mode=mtp", "--assert=plain"), "--assert=plain hides what a check compared"),
    (("--agent-mode=mtp", "--reruns=1"), "--reruns gives a second draw, which is a second chance"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES, ids=[" ".join(arguments) for arguments, _ in MISTAKES])
def test_a_mistake_is_one_line_before_anything_starts(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run_pytest(tmp_path, *arguments, *QUIET_PLUGINS)
    assert done.code == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in done.output.splitlines() if line.strip()]
    assert line.startswith("ERROR: ") and message in line
    assert not (tmp_path / "agentgrade-runs").exists()


def test_the_same_under_xdist(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, "--agent-mode=mpt", "-n", "2", *QUIET_PLUGINS)
    assert done.code == pytest.ExitCode.USAGE_ERROR and done.output.count("did you mean 'mtp'?") == 1


def test_asserts_must_be_on(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, "--agent-mode=mtp", *QUIET_PLUGINS, env={"PYTHONOPTIMIZE": "1"})
    assert done.code == pytest.ExitCode.USAGE_ERROR and "unset PYTHONOPTIMIZE" in done.output


def test_an_unknown_setting_names_its_file(tmp_path: Path) -> None:
    write_settings(tmp_path, "task_second = 5\n")
    done = run_pytest(tmp_path, "--agent-mode=mtp", *QUIET_PLUGINS)
    assert "agentgrade.toml, line 1: unknown setting 'task_second' - did you mean 'task_seconds'?" in done.output
