"""What of a submission is judged."""

from __future__ import annotations

from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.submission.tree import Tree


def judged_tree(task: Task, submitted: Tree) -> tuple[Tree, tuple[str, ...]]:
    """The submission's editable files in the fixture's everything else; and the paths whose change was ignored.

    An editable file that the submission no longer has is gone here too.
    """
    kept = {path: file for path, file in task.base.items() if not task.is_editable(path)}
    edited = {path: file for path, file in submitted.items() if task.is_editable(path)}
    ignored = tuple(path for path in task.base.changed_paths(submitted) if not task.is_editable(path))
    return Tree({**kept, **edited}), ignored
