"""Submissions made elsewhere, through the whole pipeline and real containers."""

from __future__ import annotations

import pytest

from pytest_agentgrade.grading.solutions import reference_tree
from pytest_agentgrade.submission.render import render_patch
from tests.graded import QUIET_PLUGINS, TASKS, Graded, properties_of, run_pytest, the_task

UNTOUCHED = "--- /dev/null\n+++ b/NOTES.md\n@@ -0,0 +1 @@\n+Nothing was done.\n"
ESCAPE = "--- /dev/null\n+++ b/../outside.py\n@@ -0,0 +1 @@\n+x = 1\n"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """One run with the reference, an untouched workspace, and a patch that leads out of it."""
    folder = tmp_path_factory.mktemp("patches")
    for mode in ("right", "untouched", "escape"):
        (folder / "patches" / mode).mkdir(parents=True)
    for name in TASKS:
        task = the_task(name)
        patch = render_patch(task.base, reference_tree(task))
        (folder / "patches" / "right" / f"{name}.patch").write_text(patch, encoding="utf-8")
        (folder / "patches" / "untouched" / f"{name}.patch").write_text(UNTOUCHED)
    (folder / "patches" / "escape" / "csv_ledger.patch").write_text(ESCAPE)
    return run_pytest(
        folder, "--agent-patches=patches", "--agent-mode=right,untouched,escape", "--agent-seed=1",
        "--junitxml=junit.xml", *QUIET_PLUGINS, "--tb=no", seconds=900,
    )  # fmt: skip


@pytest.mark.parametrize("task", TASKS)
def test_the_reference_passes_all_ten_and_the_untouched_workspace_one(graded: Graded, task: str) -> None:
    right, untouched = graded.records[f"{task}[right-1]"], graded.records[f"{task}[untouched-1]"]
    assert right.complete and right.passed == 10 and right.delivers
    assert untouched.complete and untouched.passed == 1
    assert all(verdict.outcome == "passed" for verdict in right.verdicts), "the reference goes beyond as well"


def test_a_refused_patch_fails_every_check_and_names_the_path(graded: Graded) -> None:
    record = graded.records["csv_ledger[escape-1]"]
    assert record.complete and record.passed == 0
    assert record.submission is not None and "../outside.py" in (record.submission.refused or "")
    assert all("../outside.py" in verdict.reason for verdict in record.verdicts)


def test_an_edit_where_none_is_judged_is_reported(graded: Graded) -> None:
    submission = graded.records["csv_ledger[untouched-1]"].submission
    assert submission is not None and (submission.changed, submission.ignored) == ([], ["NOTES.md"])


def test_all_attempts_share_the_draws(graded: Graded) -> None:
    for task in TASKS:
        draws = graded.run.read_draws(task)
        assert draws is not None
        for mode in ("right", "untouched"):
            seeds = {verdict.check: verdict.draw_seed for verdict in graded.records[f"{task}[{mode}-1]"].verdicts}
            assert seeds == {check: draw.seed for check, draw in draws.items()}


def test_summary_and_exit_code_tell_the_same(graded: Graded) -> None:
    assert graded.code == pytest.ExitCode.TESTS_FAILED
    lines = [line.split() for line in graded.output.splitlines()]
    assert ["right", "4", "4/4", "40/40", "-", "-", "-"] in lines
    assert ["untouched", "4", "0/4", "4/40", "-", "-", "-"] in lines
    assert ["escape", "1", "0/1", "0/10", "-", "-", "-"] in lines


def test_junit_has_a_testcase_for_each_check_with_the_names_of_its_attempt(graded: Graded) -> None:
    cases = graded.testcases()
    verdicts = sum(len(record.verdicts) for record in graded.records.values())
    assert len(cases) == len({(case.classname, case.name) for case in cases}) == verdicts
    case = next(case for case in cases if case.name.endswith("[right-1]") and "csv_ledger" in (case.classname or ""))
    properties = properties_of(case)
    assert properties["agentgrade.mode"] == "right" and properties["agentgrade.task"] == "csv_ledger"
    assert properties["agentgrade.seed"] == "1" and len(properties["agentgrade.submission"]) == 64
