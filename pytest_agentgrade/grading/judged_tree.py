"""What of a submission is judged."""

from __future__ import annotations

from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.submission.tree import Tree


def judged_tree(task: Task, submitted: Tree) -> tuple[Tree, tuple[str, ...]]:
    """The submission's editable files in the fixture's everything else; and the paths whose change was ignored.

    An editable file that the submission no longer has is gone here too.
    """
    own = {path.removesuffix(".py") + "/" for path in task.base if task.is_protected(path) and path.endswith(".py")}

    def is_judged(path: str) -> bool:
        # Python takes the package `errors/` before the module `errors.py`: the folder would replace a protected file.
        return task.is_editable(path) and not path.startswith(tuple(own))

    kept = {path: file for path, file in task.base.items() if not is_judged(path)}
    edited = {path: file for path, file in submitted.items() if is_judged(path)}
    ignored = tuple(path for path in task.base.changed_paths(submitted) if not is_judged(path))
    return Tree({**kept, **edited}), ignored
