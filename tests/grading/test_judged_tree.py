"""Which of a submission's files are judged."""

from __future__ import annotations

from pytest_agentgrade.grading.judged_tree import judged_tree
from pytest_agentgrade.submission.tree import TreeFile

from . import toy


def test_a_folder_cannot_stand_in_for_a_protected_module() -> None:
    task = toy.make_task()
    planted = TreeFile(b"class Bad(Exception): ...\n")
    names = ("toy/errors/__init__.py", "toy/errors/deep/x.py", "toy/errors.py")
    tree, ignored = judged_tree(task, toy.tree(toy.RIGHT).with_files(dict.fromkeys(names, planted)))
    assert set(tree) == {"toy/__init__.py", "toy/errors.py"}
    assert tree["toy/errors.py"].data == toy.ERRORS
    assert set(ignored) == set(names)


def test_a_folder_beside_it_is_judged() -> None:
    task = toy.make_task()
    tree, ignored = judged_tree(task, toy.tree(toy.RIGHT).with_files({"toy/errors_too/a.py": TreeFile(b"")}))
    assert "toy/errors_too/a.py" in tree and ignored == ()
