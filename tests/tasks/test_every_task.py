"""The rules that hold for every task: proved on the author's own solutions, in fresh random draws.

For each draw: the reference passes all ten, the untouched workspace always the same one; each wrong solution fails
exactly the checks its head names, and each check is failed by one that passes the other nine.
``AGENTGRADE_TASK_DRAWS`` sets the number of draws, for the wrong solutions as well: ``tox run -e draws`` makes it 25,
after a task or the judge was changed.
"""

from __future__ import annotations

import os

import pytest

from pytest_agentgrade.assignment.task import MAX_PROMPT_CHARACTERS
from pytest_agentgrade.grading import author
from pytest_agentgrade.grading.solutions import wrong_names
from pytest_agentgrade.grading.suite import load_checks
from tests.graded import PROJECT, TASKS, the_task

DRAWS = os.environ.get("AGENTGRADE_TASK_DRAWS", "3")
WRONG_DRAWS = os.environ.get("AGENTGRADE_TASK_DRAWS", "1")


@pytest.mark.parametrize("name", TASKS)
def test_the_rules_of_a_task_hold(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(PROJECT)
    code = author.main([name, "--draws", DRAWS, "--wrong-draws", WRONG_DRAWS])
    printed = capsys.readouterr()
    assert code == 0, printed.out + printed.err
    rows = {line.split()[0]: line for line in printed.out.splitlines() if " passes of " in line}
    assert set(rows) == {"reference", "untouched", *wrong_names(the_task(name))}


@pytest.mark.parametrize("name", TASKS)
def test_the_prompt_names_no_check_and_no_wrong_solution(name: str) -> None:
    task = the_task(name)
    visible = task.prompt + "".join(file.data.decode() for file in task.base.values())
    for check in load_checks(task):
        assert check.name not in visible and check.name.removeprefix("test_") not in visible
    assert len(task.prompt) <= MAX_PROMPT_CHARACTERS


@pytest.mark.parametrize("name", TASKS)
def test_a_task_has_enough_wrong_solutions_and_some_checks_that_go_beyond(name: str) -> None:
    task = the_task(name)
    assert len(wrong_names(task)) >= 12
    assert sum(check.beyond for check in load_checks(task)) >= 2
