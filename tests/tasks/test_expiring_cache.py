"""The expiring cache task: its public tests report honestly, and what is asked stays small."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentgrade.assignment.task import Task, load_task

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "hidden_checks" / "expiring_cache" / "reference"


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(ROOT / "task_fixtures" / "expiring_cache", ROOT / "hidden_checks" / "expiring_cache")


def run_public_tests(task: Task, folder: Path, overlay: Path | None = None) -> subprocess.CompletedProcess[str]:
    for path, file in task.base.items():
        source = overlay / path if overlay and (overlay / path).exists() else None
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes() if source else file.data)
    command = [sys.executable, "-B", *task.test_command[1:]]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_public_tests_of_the_untouched_workspace_show_two_of_its_faults(task: Task, tmp_path: Path) -> None:
    ended = run_public_tests(task, tmp_path)
    assert ended.returncode == 1
    failing = re.findall(r"^(?:FAIL|ERROR): (\w+)", ended.stderr, re.MULTILINE)
    assert sorted(failing) == ["test_len_leaves_out_expired_entries", "test_purge"]


def test_public_tests_pass_with_the_reference(task: Task, tmp_path: Path) -> None:
    ended = run_public_tests(task, tmp_path, REFERENCE)
    assert ended.returncode == 0, ended.stderr
    assert "Ran 7 tests" in ended.stderr


def test_prompt_and_reference_fit_a_small_response_budget(task: Task) -> None:
    assert 1_500 <= len(task.prompt) <= 3_500
    assert (REFERENCE / "expiring_cache" / "cache.py").stat().st_size <= 3_500
    assert sum(len(file.data) for file in task.base.values()) <= 5_000


def test_errors_are_protected_and_public_tests_are_no_production_edit(task: Task) -> None:
    assert task.is_editable("expiring_cache/cache.py")
    assert task.is_editable("expiring_cache/flights.py")
    assert not task.is_editable("expiring_cache/errors.py")
    assert task.is_test("tests/test_cache.py")
    assert not task.is_editable("tests/test_cache.py")


def test_prompt_names_no_check(task: Task) -> None:
    names = re.findall(r"^def (test_\w+)", task.check_file.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(names) == 14
    assert not [name for name in names if name in task.prompt or name.removeprefix("test_") in task.prompt]
