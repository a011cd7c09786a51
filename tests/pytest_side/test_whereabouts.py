"""pytest never grades from a place whose configuration a candidate could have written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.graded import PROJECT, QUIET_PLUGINS, run_pytest

TRAP = "raise SystemExit('the workspace was obeyed')\n"
PATCH = "--- /dev/null\n+++ b/NOTES.md\n@@ -0,0 +1 @@\n+Nothing.\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one task whose workspace is full of traps."""
    shutil.copytree(PROJECT / "task_fixtures" / "csv_ledger", tmp_path / "task_fixtures" / "csv_ledger")
    shutil.copytree(PROJECT / "hidden_checks" / "csv_ledger", tmp_path / "hidden_checks" / "csv_ledger")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches" / "csv_ledger.patch").write_text(PATCH)
    return tmp_path


@pytest.mark.parametrize("inside", [".", "tests", "csv_ledger"])
@pytest.mark.parametrize("option", ["--agent-mode=baseline", "--agent-patches={}/patches"])
def test_inside_a_workspace_nothing_is_graded_or_loaded(project: Path, inside: str, option: str) -> None:
    workspace = project / "task_fixtures" / "csv_ledger" / "workspace"
    (workspace / "conftest.py").write_text(TRAP)
    (workspace / "pytest.ini").write_text("[pytest]\naddopts = -q\n")
    done = run_pytest(workspace / inside, option.format(project), *QUIET_PLUGINS, seconds=60)
    assert done.code == pytest.ExitCode.USAGE_ERROR
    assert "holds a candidate's files" in done.output and "obeyed" not in done.output
    assert not list(project.rglob("agentgrade-runs"))


def test_inside_a_stored_attempt_nothing_is_graded_or_loaded(project: Path) -> None:
    attempt = project / "agentgrade-runs" / "x" / "attempts" / "csv_ledger" / "a-1"
    attempt.mkdir(parents=True)
    (attempt / "1-workspace.json").write_text("{}")
    (attempt / "conftest.py").write_text(TRAP)
    (attempt / "pytest.ini").write_text("[pytest]\n")
    done = run_pytest(attempt, f"--agent-patches={project}/patches", *QUIET_PLUGINS, seconds=60)
    assert done.code == pytest.ExitCode.USAGE_ERROR and "obeyed" not in done.output


def test_rootdir_counts_as_well_as_the_current_folder(project: Path) -> None:
    workspace = project / "task_fixtures" / "csv_ledger" / "workspace"
    done = run_pytest(
        project, f"--rootdir={workspace}", f"--agent-patches={project}/patches", *QUIET_PLUGINS, seconds=60
    )
    assert done.code == pytest.ExitCode.USAGE_ERROR and "holds a candidate's files" in done.output


def test_a_workspace_is_not_collected_beside_the_checks(project: Path) -> None:
    (project / "task_fixtures" / "csv_ledger" / "workspace" / "tests" / "conftest.py").write_text(TRAP)
    done = run_pytest(project, "--collect-only", "-q", ".", *QUIET_PLUGINS, seconds=60)
    assert done.code == pytest.ExitCode.NO_TESTS_COLLECTED, done.output
    graded = run_pytest(
        project, "--collect-only", "-q", "--agent-patches=patches", "--agent-seed=1", ".", *QUIET_PLUGINS, seconds=60
    )
    assert graded.code == 0 and "obeyed" not in graded.output and "task_fixtures" not in graded.output
