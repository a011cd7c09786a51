"""The toy task as an author would lay it out, in a folder."""

from __future__ import annotations

from pathlib import Path

from pytest_agentgrade.assignment.manifest import write_manifest
from pytest_agentgrade.assignment.task import Task, load_task

from . import toy

CHECK = """
@kills("untouched"{more})
def test_{name}(candidate: Candidate) -> None:
    number = candidate.draw.integer(0, {top})
    assert candidate.call("toy:total", [number, number]) == number + number
"""
HEAD = """from __future__ import annotations

from pytest_agentgrade.checks import Candidate, beyond, kills
"""
WRONG = """# kills: test_a
# why: Small sums only.
--- a/toy/__init__.py
+++ b/toy/__init__.py
@@ -2,6 +2,6 @@
 from toy.errors import Bad
{empty}
 def total(numbers):
-    result = 0
+    result = 1 if numbers[0] > 1 else 0
     for number in numbers:
         result += number
""".replace("{empty}", " ")


def checks(names: str = "jihgfedcba", top: int = 10**6) -> str:
    """A module of checks; only ``a`` kills ``small``."""
    parts = [
        CHECK.format(name=name, top=top if name == "a" else 1, more=', "small"' if name == "a" else "")
        for name in names
    ]
    return HEAD + "".join(parts)


def write_task(folder: Path, module: str | None = None, wrong: str = WRONG) -> Task:
    """Make the folders and load the task."""
    task, hidden = folder / "task_fixtures" / "toy", folder / "hidden_checks" / "toy"
    (task / "workspace" / "toy").mkdir(parents=True)
    (task / "workspace" / "toy" / "__init__.py").write_text(toy.UNTOUCHED)
    (task / "workspace" / "toy" / "errors.py").write_bytes(toy.ERRORS)
    (task / "prompt.md").write_text("Make it work.\n")
    (task / "task.toml").write_text(
        'schema = 1\ntitle = "Toy"\npackage = "toy"\neditable = ["toy/*.py"]\nprotected = ["toy/errors.py"]\n'
        'tests = ["tests/*"]\ntest_command = ["true"]\n'
    )
    write_manifest(task)
    (hidden / "reference" / "toy").mkdir(parents=True)
    (hidden / "reference" / "toy" / "__init__.py").write_text(toy.RIGHT)
    (hidden / "wrong").mkdir()
    (hidden / "wrong" / "small.diff").write_text(wrong)
    (hidden / "test_toy.py").write_text(module if module is not None else checks())
    return load_task(task, hidden)
