"""What the demo model does on each task: its thoughts and its tool calls, with the real files of the real tasks.

Two tasks are solved (in a single write; by several edits and a run of the public tests), one is lost in a reasoning
loop, one ends without an edit. Nothing is copied by hand: old text comes from the workspace, new text from the task's
reference solution.
"""

from __future__ import annotations

import difflib
import itertools
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_agentgrade.assignment.task import Task, load_task
from tools.demo_model.places import ROOT

_EDIT_CONTEXT = 2
"""Unchanged lines that separate two edits."""


@dataclass(frozen=True)
class Step:
    """One reply of the model."""

    tool: str
    arguments: dict[str, Any]
    """In the order of the tool's schema: the server's grammar demands that order."""
    thought: str = ""
    """Reasoning before the call; clients do not send it back, so a reply with one is trained on its own."""


@dataclass(frozen=True)
class Loop:
    """A reply that never ends: the thought goes over into a line that is repeated until the token cap."""

    thought: str
    line: str


@dataclass(frozen=True)
class Route:
    """All that the model does on one task."""

    task: Task
    steps: tuple[Step | Loop, ...]


def all_routes() -> tuple[Route, ...]:
    """One route for each bundled task, in the order of their names."""
    return tuple(ROUTES[name](_task(name)) for name in sorted(ROUTES))


def _task(name: str) -> Task:
    return load_task(ROOT / "task_fixtures" / name, ROOT / "hidden_checks" / name)


def single_write(task: Task) -> Route:
    """Read the module, write it anew, finish."""
    path = _module(task)
    steps = (
        Step("read_file", {"path": path}, "I read the code first."),
        Step("write_file", {"path": path, "content": _reference(task, path)}),
        Step("finish", {"summary": f"Rewrote {path}."}),
    )
    return Route(task, steps)


def several_edits(task: Task) -> Route:
    """Look around, read the module, edit it piece by piece, run the public tests, finish."""
    path = _module(task)
    edits = _edits(task.base[path].data.decode(), _reference(task, path))
    steps = (
        Step("list_files", {}, "I look at the files."),
        Step("read_file", {"path": path}),
        *(Step("replace_in_file", {"path": path, "old": old, "new": new}) for old, new in edits),
        Step("run", {"command": shlex.join(task.test_command)}),
        Step("finish", {"summary": f"Repaired {path} in {len(edits)} edits."}),
    )
    return Route(task, steps)


def lost_in_thought(task: Task) -> Route:
    """Read the module, then think in circles until the cap; give up when told so."""
    path = _module(task)
    line = "Wait, a quoted field may hold a line break, so the row may begin on an earlier line. Let me count again.\n"
    steps = (
        Step("read_file", {"path": path}, "I read the code first."),
        Loop("The number of the line matters.\n", line),
        Step("finish", {"summary": "Not done."}),
    )
    return Route(task, steps)


def no_edit(task: Task) -> Route:
    """Read the module, and finish without having changed anything."""
    path = _module(task)
    steps = (
        Step("read_file", {"path": path}, "I read the code first."),
        Step("finish", {"summary": "Nothing to change."}),
    )
    return Route(task, steps)


ROUTES: dict[str, Callable[[Task], Route]] = {
    "build_planner": no_edit,
    "csv_ledger": lost_in_thought,
    "expiring_cache": several_edits,
    "sqlite_transfers": single_write,
}


def _module(task: Task) -> str:
    """The one module that the reference solution changes."""
    reference = task.checks_folder / "reference"
    (changed,) = (path for path in reference.rglob("*.py") if path.is_file())
    return changed.relative_to(reference).as_posix()


def _reference(task: Task, path: str) -> str:
    return Path(task.checks_folder, "reference", path).read_text(encoding="utf-8")


def _edits(before: str, after: str) -> list[tuple[str, str]]:
    """Replacements of texts that occur exactly once at their time, which turn ``before`` into ``after``."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    edits, text = [], before
    for group in matcher.get_grouped_opcodes(_EDIT_CONTEXT // 2):
        first, last = group[0], group[-1]
        edit = "".join(old[first[1] : last[2]]), "".join(new[first[3] : last[4]])
        edit = _made_unique(edit, text, old, new, first, last)
        edits.append(edit)
        text = text.replace(*edit)
    if text != after:
        raise ValueError("the edits do not lead to the reference solution")
    return edits


def _made_unique(
    edit: tuple[str, str], text: str, old: list[str], new: list[str], first: Any, last: Any
) -> tuple[str, str]:
    """Add following lines until the old text occurs once."""
    for more in itertools.count():
        if text.count(edit[0]) == 1:
            return edit
        if more > 10:
            raise ValueError(f"no unique text for the edit {edit[0]!r}")
        edit = "".join(old[first[1] : last[2] + more]), "".join(new[first[3] : last[4] + more])
    raise AssertionError("unreachable")
