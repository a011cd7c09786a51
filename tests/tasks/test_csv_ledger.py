"""What the common tests of all tasks do not see of csv_ledger: its public tests and the memory of its reference."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKSPACE = ROOT / "task_fixtures" / "csv_ledger" / "workspace"
REFERENCE = ROOT / "hidden_checks" / "csv_ledger" / "reference"

PEAK = """
import tracemalloc
from csv_ledger import Ledger

def lines():
    yield "id,date,account,amount,memo\\n"
    for number in range(1000):
        yield f"{number},2026-03-01,savings,1.5,{'m' * 20_000}\\n"

ledger = Ledger()
tracemalloc.start()
assert ledger.import_rows(lines()) == 1000
print(tracemalloc.get_traced_memory()[1])
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A copy of the initial workspace."""
    return Path(shutil.copytree(WORKSPACE, tmp_path / "workspace", ignore=shutil.ignore_patterns("__pycache__")))


def _python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def _public_tests(folder: Path) -> str:
    return _python(folder, "-m", "unittest", "discover", "-s", "tests", "-t", ".").stderr


def test_public_tests_fail_honestly_and_pass_with_the_reference(workspace: Path) -> None:
    before = _public_tests(workspace)
    assert "Ran 5 tests" in before
    assert "FAILED (failures=1, errors=2)" in before
    shutil.copytree(REFERENCE, workspace, dirs_exist_ok=True)
    assert _public_tests(workspace).rstrip().endswith("OK")


def test_reference_keeps_no_memos(workspace: Path) -> None:
    shutil.copytree(REFERENCE, workspace, dirs_exist_ok=True)
    done = _python(workspace, "-c", PEAK)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 2_000_000
