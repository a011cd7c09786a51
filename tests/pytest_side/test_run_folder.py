"""The folder of a run: what may join it, who may use it, and what is said of one that is damaged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pytest_agentgrade.records.store import RunStore
from pytest_agentgrade.run_folder import sole_user
from tests.graded import PROJECT, QUIET_PLUGINS, Graded, run_pytest, write_settings

TASK = "expiring_cache"
REFUSED = "no patch at all\n"
"""A patch that cannot be applied is judged without a container."""
NOTHING = ("-k", "no_such_check")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches" / f"{TASK}.patch").write_text(REFUSED)
    return tmp_path


def grade(folder: Path, *more: str) -> Graded:
    return run_pytest(folder, "--agent-patches=patches", "--agent-seed=1", "--agent-run-dir=run", *QUIET_PLUGINS, *more)


def test_a_damaged_record_is_named_before_anything_runs(folder: Path) -> None:
    assert grade(folder).code == 1
    (folder / "run" / "attempts" / TASK / "patches-1" / "4-submission.json").write_text('{"origin":')
    done = grade(folder)
    assert done.code == 4 and "4-submission.json is no SubmissionPhase" in done.output, done.output
    assert "Traceback" not in done.output and "INTERNALERROR" not in done.output
    (folder / "run" / "run.json").write_bytes(b"\xff\xfe")
    done = grade(folder)
    assert done.code == 4 and "run.json: 'utf-8' codec" in done.output, done.output


def test_a_patch_that_has_changed_is_judged_as_it_is_now(folder: Path) -> None:
    grade(folder, "-k", "nothing_else_waits or expires_exactly")
    grade(folder, "-k", "nothing_else_waits")
    (record,) = RunStore(folder / "run").records()
    assert len(record.verdicts) == 2, "the same patch keeps its verdicts"
    (folder / "patches" / f"{TASK}.patch").write_text("other " + REFUSED + "--- a\n")
    done = grade(folder, "-k", "nothing_else_waits")
    assert "has changed" in done.output, done.output
    (record,) = RunStore(folder / "run").records()
    assert [verdict.check for verdict in record.verdicts] == ["test_nothing_else_waits_for_a_factory"]
    assert (folder / "run" / "attempts" / TASK / "patches-1.try1" / "verdicts").is_dir()


def test_a_folder_in_use_is_refused_at_once(folder: Path) -> None:
    with sole_user(folder / "run"):
        done = grade(folder)
        assert done.code == 4 and "is in use by another process" in done.output, done.output
    assert grade(folder, *NOTHING).code == 5


@pytest.mark.parametrize("what", ["patches/notes.txt", "file"])
def test_a_foreign_folder_is_refused(folder: Path, what: str) -> None:
    (folder / "file").write_text("")
    (folder / "patches" / "notes.txt").write_text("")
    done = grade(folder, f"--agent-run-dir={(folder / what).parent if '/' in what else folder / what}")
    assert done.code == 4 and "Traceback" not in done.output, done.output


def test_below_a_file_there_is_no_folder(folder: Path) -> None:
    (folder / "file").write_text("")
    done = grade(folder, "--agent-run-dir=file/run")
    assert done.code == 4 and "choose another --agent-run-dir" in done.output, done.output


@pytest.mark.parametrize("changed", ["task_fixtures/{0}/prompt.md", "hidden_checks/{0}/test_{0}.py"])
def test_a_changed_task_does_not_join_a_run(folder: Path, changed: str) -> None:
    for name in ("task_fixtures", "hidden_checks"):
        shutil.copytree(PROJECT / name / TASK, folder / name / TASK)
    assert grade(folder, *NOTHING).code == 5
    with (folder / changed.format(TASK)).open("a") as file:
        file.write("\n# changed\n")
    done = grade(folder, *NOTHING)
    told = f"made with other settings: task {TASK}: it or its checks have changed -"
    assert done.code == 4 and told in done.output, done.output


def test_a_setting_that_an_older_version_did_not_know_was_as_by_default(folder: Path) -> None:
    assert grade(folder, *NOTHING).code == 5
    record = json.loads((folder / "run" / "run.json").read_text())
    del record["settings"]["abort_loops"]
    (folder / "run" / "run.json").write_text(json.dumps(record))
    assert grade(folder, *NOTHING).code == 5
    done = grade(folder, *NOTHING, "--agent-abort-loops")
    told = "made with other settings: abort_loops: recorded false, given true - choose another"
    assert done.code == 4 and told in done.output, done.output


def test_what_differs_is_told_with_both_values(folder: Path) -> None:
    write_settings(folder, 'seeds = [1]\n[modes.patches]\nserver_args = ["-ngl", "1"]\n')
    assert grade(folder, *NOTHING).code == 5
    write_settings(folder, '[modes.patches]\nserver_args = ["-ngl", "2"]\n')
    done = grade(folder, *NOTHING, "--agent-seed=2,3")
    told = 'modes.patches.server_args: recorded ["-ngl", "1"], given ["-ngl", "2"]; seeds: recorded [1], given [2, 3] -'
    assert done.code == 4 and told in done.output, done.output
    done = grade(folder, *NOTHING, "--agent-context=9999")
    assert "context: recorded 32768, given 9999; modes.patches" in done.output, done.output


def test_draws_that_cannot_be_made_leave_a_record(folder: Path) -> None:
    for name in ("task_fixtures", "hidden_checks"):
        shutil.copytree(PROJECT / name / TASK, folder / name / TASK)
    wrong = next((folder / "hidden_checks" / TASK / "wrong").glob("*.diff"))
    for path in wrong.parent.glob("*.diff"):
        path.write_text("# kills: x\n# why: broken\nno diff\n")
    done = grade(folder)
    assert done.code == 1 and "INTERNALERROR" not in done.output, done.output
    (record,) = RunStore(folder / "run").records()
    assert record.fault is not None and record.fault.fault == "task author" and record.submission is None
    assert "1 ended by a fault that is not the model's" in done.output


def test_measure_excuses_scores_and_nothing_else(folder: Path) -> None:
    (folder / "test_mine.py").write_text("def test_mine():\n    assert False\n")
    write_settings(folder, 'exit = "measure"\n')
    assert grade(folder).code == 0
    checks = [f"hidden_checks/{TASK}/test_{TASK}.py"]
    done = grade(folder, *checks, "test_mine.py")
    assert "15 failed" in done.output and done.code == 1, done.output


def test_an_ordinary_test_has_no_candidate(folder: Path) -> None:
    (folder / "test_mine.py").write_text("def test_mine(candidate):\n    pass\n")
    done = grade(folder, "test_mine.py", "--tb=short")
    assert done.code == 1 and "only hidden checks have the fixture" in done.output, done.output


def test_the_record_says_which_tasks_and_checks(folder: Path) -> None:
    grade(folder, *NOTHING)
    assert set(json.loads((folder / "run" / "run.json").read_text())["tasks"]) == {TASK}


def test_a_run_keeps_the_order_that_another_version_gave_it(folder: Path) -> None:
    both = ("--agent-mode=one,two", *NOTHING)
    assert grade(folder, *both).code == 5
    file = folder / "run" / "run.json"
    record = json.loads(file.read_text())
    assert [key["mode"] for key in record["plan"]] == ["one", "two"]
    file.write_text(json.dumps(record | {"plan": record["plan"][::-1]}))
    for call in (("--agent-mode=one,two", "--collect-only"), ("--agent-mode=one,two",)):
        done = grade(folder, *call, "-v")
        assert done.code != 4 and done.output.index("[two-1]") < done.output.index("[one-1]"), done.output
    assert RunStore(folder / "run").run().plan[0].mode == "two"
