"""As users have it: the wheel, in an empty folder; judging again without an agent; the command line tool."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from pytest_agentgrade.grading.solutions import reference_tree
from pytest_agentgrade.records.store import RunStore
from pytest_agentgrade.submission.render import render_patch
from tests.graded import PROJECT, QUIET_PLUGINS, Graded, run_pytest, the_task

TASK = "sqlite_transfers"


def agentgrade(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest_agentgrade.cli", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    folder = tmp_path_factory.mktemp("graded")
    task = the_task(TASK)
    (folder / "patches").mkdir()
    (folder / "patches" / f"{TASK}.patch").write_text(render_patch(task.base, reference_tree(task)))
    return run_pytest(folder, "--agent-patches=patches", "--agent-seed=1", *QUIET_PLUGINS)


def test_regrade_comes_to_the_same_verdicts(graded: Graded) -> None:
    done = agentgrade("regrade", str(graded.run.folder), folder=graded.folder)
    assert done.returncode == 0, done.stderr
    assert f"{TASK}[patches-1]: 10/10, was 10/10" in done.stdout and "no recorded verdict has changed" in done.stdout


def test_regrade_notices_a_submission_that_was_exchanged(graded: Graded, tmp_path: Path) -> None:
    copy = RunStore(tmp_path / "copy")
    shutil.copytree(graded.run.folder, copy.folder)
    (record,) = copy.records()
    copy.attempt(copy.planned()[0]).write_submission(the_task(TASK).base)
    done = agentgrade("regrade", str(copy.folder), folder=graded.folder)
    assert done.returncode == 1 and "is not the tree of" in done.stderr and record.passed == 10


def test_report_and_compare_print_the_summary(graded: Graded) -> None:
    for command in ("report", "compare"):
        done = agentgrade(command, str(graded.run.folder), folder=graded.folder)
        assert done.returncode == 0 and done.stdout in graded.output, "the same text as at pytest's end"
        markdown = agentgrade(command, str(graded.run.folder), "--format=markdown", folder=graded.folder)
        assert "| mode | attempts |" in markdown.stdout
    nothing = agentgrade("report", str(graded.folder), folder=graded.folder)
    assert nothing.returncode == 2 and "holds no run" in nothing.stderr


def test_doctor_says_what_a_run_would_use(tmp_path: Path) -> None:
    (tmp_path / "agentgrade.toml").write_text("task_seconds = 60\n")
    done = agentgrade("doctor", folder=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "60.0  (agentgrade.toml)" in done.stdout and "8192]  (default)" in done.stdout
    assert "not set  (default)" in done.stdout and "ok  agent toolloop" in done.stdout
    bad = agentgrade("doctor", "--mode=mpt", folder=tmp_path)
    assert bad.returncode == 1 and "did you mean 'mtp'?" in bad.stdout


def test_the_wheel_brings_tasks_and_checks_into_an_empty_folder(tmp_path: Path) -> None:
    """Built from this checkout, installed beside the packages that are here already."""
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "-w", str(tmp_path / "dist"), str(PROJECT)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    site = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    here = [path for path in sys.path if path.endswith("site-packages")]
    subprocess.run([python, "-m", "pip", "install", "--no-deps", "--quiet", wheel], check=True)
    (site / "dependencies.pth").write_text("\n".join(here))
    empty = tmp_path / "empty"
    empty.mkdir()
    command = [python, "-P", "-m", "pytest", "--agent-mode=mtp", "--collect-only", "-q", *QUIET_PLUGINS]
    done = subprocess.run(command, cwd=empty, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    ids = [line for line in done.stdout.splitlines() if "::" in line]
    assert ids and all(name.startswith("hidden_checks/") for name in ids)
    where = "import pytest_agentgrade; print(pytest_agentgrade.__file__)"
    found = subprocess.run([python, "-P", "-c", where], cwd=empty, capture_output=True, text=True, check=True)
    assert found.stdout.startswith(str(tmp_path / "venv"))
