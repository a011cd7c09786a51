"""Checks and solutions as an author lays them out."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentgrade.errors import TaskAuthorError
from pytest_agentgrade.grading.judged_tree import judged_tree
from pytest_agentgrade.grading.solutions import reference_tree, solution_tree, wrong_names, wrong_solution
from pytest_agentgrade.grading.suite import load_checks
from pytest_agentgrade.submission.tree import TreeFile

from . import toy
from .authored import HEAD, WRONG, checks, write_task


def test_checks_come_in_source_order(tmp_path: Path) -> None:
    loaded = load_checks(write_task(tmp_path))
    assert "".join(check.name[-1] for check in loaded) == "jihgfedcba"
    assert loaded[0].kills == ("untouched",)
    assert loaded[-1].kills == ("untouched", "small")
    assert not any(check.beyond for check in loaded)


def test_beyond_checks_come_on_top(tmp_path: Path) -> None:
    extra = "\n@beyond\ndef test_more(candidate):\n    pass\n"
    loaded = load_checks(write_task(tmp_path, checks() + extra))
    assert [check.name for check in loaded if check.beyond] == ["test_more"]
    assert len(loaded) == 11


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (checks("abc"), "3 checks count"),
        (checks("abcdefghijk"), "11 checks count"),
        (checks().replace('"small"', '"smal"'), "kills 'smal'"),
        (checks().replace('@kills("untouched")', ""), "kills no solution"),
        (checks().replace("(candidate: Candidate)", "(candidate, tmp_path)"), "must take one argument"),
        (HEAD + "raise OSError('no')", "cannot import .*OSError: no"),
        ("def", "cannot import .*SyntaxError"),
    ],
)
def test_broken_module_is_the_authors_error(tmp_path: Path, module: str, reason: str) -> None:
    task = write_task(tmp_path, module)
    with pytest.raises(TaskAuthorError, match=reason):
        load_checks(task)


def test_solutions_are_trees(tmp_path: Path) -> None:
    task = write_task(tmp_path)
    assert wrong_names(task) == ("small",)
    assert reference_tree(task)["toy/__init__.py"].data == toy.RIGHT.encode()
    assert solution_tree(task, "untouched") is task.base
    wrong = wrong_solution(task, "small")
    assert wrong.kills == ("test_a",)
    assert wrong.why == "Small sums only."
    assert b"result = 1 if" in wrong.tree["toy/__init__.py"].data
    assert reference_tree(task).changed_paths(wrong.tree) == ("toy/__init__.py",)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (WRONG.replace("# kills:", "#kills"), "wrong head"),
        (WRONG.replace("# why: Small sums only.\n", ""), "wrong head"),
        (WRONG.replace("result = 0", "result = 5"), "does not apply"),
        (WRONG.split("---")[0], "does not apply|changes nothing"),
    ],
)
def test_broken_wrong_solution_is_the_authors_error(tmp_path: Path, wrong: str, reason: str) -> None:
    task = write_task(tmp_path, wrong=wrong)
    with pytest.raises(TaskAuthorError, match=reason):
        wrong_solution(task, "small")


def test_only_editable_files_of_a_submission_are_judged() -> None:
    task = toy.make_task()
    base = task.base.with_files({"README.md": TreeFile(b"read"), "tests/test_a.py": TreeFile(b"t")})
    task = type(task)(**{**vars(task), "base": base})
    submitted = base.with_files(
        {
            "toy/__init__.py": TreeFile(b"new"),
            "toy/more.py": TreeFile(b"more"),
            "toy/errors.py": TreeFile(b"forged"),
            "conftest.py": TreeFile(b"hook"),
            "README.md": None,
            "tests/test_a.py": TreeFile(b"skip"),
            "sitecustomize.py": TreeFile(b"hook"),
            "toy/data.json": TreeFile(b"{}"),
            "x.dist-info/entry_points.txt": TreeFile(b""),
        }
    )
    tree, ignored = judged_tree(task, submitted)
    assert tree.changed_paths(base) == ("toy/__init__.py", "toy/more.py")
    assert ignored == (
        "README.md",
        "conftest.py",
        "sitecustomize.py",
        "tests/test_a.py",
        "toy/data.json",
        "toy/errors.py",
        "x.dist-info/entry_points.txt",
    )
    without, _ = judged_tree(task, base.with_files({"toy/__init__.py": None}))
    assert "toy/__init__.py" not in without
