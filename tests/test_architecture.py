"""The arrows between the parts, kept by reading the imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_agentgrade

PACKAGE = Path(pytest_agentgrade.__file__).parent
PROJECT = Path(__file__).parents[1]
PYTEST_SIDE = {"plugin", "options", "hookspecs", "collect"}
FORBIDDEN = {
    "assignment": {"attempt", "grading", "records", "analysis", "reporting", "sandbox"},
    "attempt": {"grading", "analysis", "reporting", "pipeline", "storing", "run", "run_setup", "plugin"},
    "sandbox": {"attempt", "grading", "assignment", "records", "analysis", "reporting"},
    "submission": {"attempt", "grading", "sandbox", "records", "analysis", "reporting"},
    "grading": {"attempt", "records", "analysis", "reporting", "pipeline", "run"},
    "records": {"attempt", "grading", "analysis", "reporting", "sandbox", "pipeline", "run"},
    "analysis": {"attempt", "grading", "reporting", "sandbox", "pipeline", "run"},
    "reporting": {"attempt", "grading", "sandbox", "pipeline", "run"},
}
"""Part -> parts (or modules) it never imports, not even inside a function or for annotations."""
HEAVY = {"docker", "aiohttp", "xllamacpp", "git", "scipy", "numpy", "junitparser", "pydantic", "filelock"}


def modules() -> Iterator[Path]:
    return (path for path in sorted(PACKAGE.rglob("*.py")) if "bundled" not in path.parts)


def imports(path: Path, *, top_level_only: bool = False) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else ast.walk(tree)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            found |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("part", FORBIDDEN)
def test_a_part_imports_only_what_lies_before_it(part: str) -> None:
    for path in (PACKAGE / part).rglob("*.py"):
        for name in imports(path):
            parts = name.split(".")
            if parts[0] == "pytest_agentgrade" and len(parts) > 1:
                assert parts[1] not in FORBIDDEN[part], f"{path} imports {name}"


def test_only_the_pytest_side_imports_pytest() -> None:
    importers = {
        path.stem for path in modules() if {name.split(".")[0] for name in imports(path)} & {"pytest", "_pytest"}
    }
    assert importers == PYTEST_SIDE


def test_nothing_imports_the_private_parts_of_pytest() -> None:
    assert not [path for path in modules() if any(name.startswith("_pytest") for name in imports(path))]


@pytest.mark.parametrize("module", ["plugin", "options", "hookspecs", "errors"])
def test_an_inactive_plugin_imports_nothing_heavy(module: str) -> None:
    code = f"import sys, pytest; before = set(sys.modules); import pytest_agentgrade.{module}; " + (
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & HEAVY


def test_hidden_checks_import_the_vocabulary_and_the_standard_library_only() -> None:
    checks = sorted((PROJECT / "hidden_checks").glob("*/test_*.py"))
    assert checks
    for path in checks:
        for name in imports(path):
            top = name.split(".")[0]
            allowed = top in sys.stdlib_module_names or name.startswith("pytest_agentgrade.checks")
            assert allowed, f"{path} imports {name}"
