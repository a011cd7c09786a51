"""The transfers task: its public tests report honestly, and what is asked fits a small response budget."""

from __future__ import annotations

import ast
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentgrade.assignment.task import Task, load_task

ROOT = Path(__file__).parents[2]
CHECKS = ROOT / "hidden_checks" / "sqlite_transfers"
REFERENCE = CHECKS / "reference" / "sqlite_transfers" / "transfers.py"


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(ROOT / "task_fixtures" / "sqlite_transfers", CHECKS)


def run_public_tests(task: Task, folder: Path, transfers: bytes | None = None) -> subprocess.CompletedProcess[str]:
    for path, file in task.base.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(transfers if transfers and path.endswith("/transfers.py") else file.data)
    command = [sys.executable, "-B", *task.test_command[1:]]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_public_tests_of_the_untouched_workspace_show_three_of_its_faults(task: Task, tmp_path: Path) -> None:
    ended = run_public_tests(task, tmp_path)
    assert ended.returncode == 1
    assert sorted(re.findall(r"^(?:FAIL|ERROR): (\w+)", ended.stderr, re.MULTILINE)) == [
        "test_refuses_more_than_the_balance",
        "test_retry_moves_money_once",
        "test_unknown_target_keeps_the_money",
    ]


def test_public_tests_pass_with_the_reference(task: Task, tmp_path: Path) -> None:
    ended = run_public_tests(task, tmp_path, REFERENCE.read_bytes())
    assert ended.returncode == 0, ended.stderr


def test_the_checks_make_the_tables_of_the_workspace(task: Task) -> None:
    assert table_columns(constant(task.base["sqlite_transfers/schema.py"].data.decode(), "TABLES")) == table_columns(
        constant(task.check_file.read_text(encoding="utf-8"), "TABLES")
    )


def test_errors_and_schema_stay_as_they_are(task: Task) -> None:
    assert task.is_editable("sqlite_transfers/transfers.py")
    assert not task.is_editable("sqlite_transfers/errors.py")
    assert not task.is_editable("sqlite_transfers/schema.py")


def test_the_task_fits_a_response_of_8192_tokens(task: Task) -> None:
    assert 1_500 <= len(task.prompt) <= 3_500
    assert len(REFERENCE.read_text(encoding="utf-8")) <= 3_500


def constant(source: str, name: str) -> tuple[str, ...]:
    """The value of a module's literal constant, read without running the module."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
            value: tuple[str, ...] = ast.literal_eval(node.value)
            return value
    raise AssertionError(f"{name} is not assigned")


def table_columns(statements: tuple[str, ...]) -> list[tuple[object, ...]]:
    """What SQLite itself makes of the statements: columns and indexes of both tables."""
    conn = sqlite3.connect(":memory:")
    for statement in statements:
        conn.execute(statement)
    pragmas = [f"PRAGMA {what}({table})" for table in ("wallets", "transfers") for what in ("table_info", "index_list")]
    rows = [row for pragma in pragmas for row in conn.execute(pragma)]
    conn.close()
    return rows
