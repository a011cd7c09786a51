"""Options of ours in a call that grades nothing: one line, and the tests run as ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graded import QUIET_PLUGINS, run_pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "test_mine.py").write_text("def test_mine():\n    pass\n")
    return tmp_path


@pytest.mark.parametrize("how", [(), ("-q",), ("-n", "1")])
def test_it_is_said_once_that_nothing_is_graded(folder: Path, how: tuple[str, ...]) -> None:
    done = run_pytest(folder, "--agent-model", "x.gguf", "--agent-seed=1", *how, *QUIET_PLUGINS)
    line = "agentgrade: nothing is graded: --agent-model, --agent-seed without --agent-mode, --agent-preset or"
    assert done.code == 0 and "1 passed" in done.output and done.output.count(line) == 1, done.output


def test_a_folder_that_holds_no_run_is_named(folder: Path) -> None:
    done = run_pytest(folder, "--agent-run-dir=agentgrade-runs/tpyo", *QUIET_PLUGINS)
    assert done.code == 0 and "; agentgrade-runs/tpyo holds no run" in done.output, done.output


def test_options_of_a_settings_file_of_pytest_may_wait(folder: Path) -> None:
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --agent-seed=1\n")
    done = run_pytest(folder, *QUIET_PLUGINS, env={"PYTEST_ADDOPTS": "--agent-model=x.gguf"})
    assert done.code == 0 and "agentgrade:" not in done.output, done.output
