"""What the common tests of all tasks do not see of build_planner: its public tests and the size of its reference."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKSPACE = ROOT / "task_fixtures" / "build_planner" / "workspace"
REFERENCE = ROOT / "hidden_checks" / "build_planner" / "reference"
CHARACTERS_IN_ONE_RESPONSE = 8_192 * 3
"""A token of code has at least about three characters; half of the response is left for thinking."""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A copy of the initial workspace."""
    return Path(shutil.copytree(WORKSPACE, tmp_path / "workspace", ignore=shutil.ignore_patterns("__pycache__")))


def _public_tests(folder: Path) -> str:
    command = [sys.executable, "-B", "-m", "unittest", "discover", "-s", "tests", "-t", "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False).stderr


def test_public_tests_fail_honestly_and_pass_with_the_reference(workspace: Path) -> None:
    before = _public_tests(workspace)
    assert "Ran 6 tests" in before
    assert "FAILED (failures=2, errors=1)" in before
    shutil.copytree(REFERENCE, workspace, dirs_exist_ok=True)
    assert _public_tests(workspace).rstrip().endswith("OK")


def test_reference_fits_into_half_a_response() -> None:
    changed = [path for path in REFERENCE.rglob("*") if path.is_file()]
    assert [path.name for path in changed] == ["planner.py"]
    assert len(changed[0].read_text(encoding="utf-8")) < CHARACTERS_IN_ONE_RESPONSE // 2
