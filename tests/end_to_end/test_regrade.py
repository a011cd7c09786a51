"""`agentgrade regrade` after the checks were changed: said, marked, and on inputs that still tell right from wrong."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_agentgrade.analysis.pairs import prove_pair
from pytest_agentgrade.assignment.task import Task, load_task
from pytest_agentgrade.errors import HostError
from pytest_agentgrade.grading.docker_transport import DockerTransport
from pytest_agentgrade.grading.draws import misjudged
from pytest_agentgrade.grading.solutions import solution_tree
from pytest_agentgrade.grading.suite import load_checks
from pytest_agentgrade.records.inputs import load_runs
from pytest_agentgrade.records.store import RunStore
from pytest_agentgrade.regrading import regrade
from pytest_agentgrade.reporting.several_runs import report_on
from pytest_agentgrade.submission.render import render_patch
from tests.analysis.proven_records import in_run
from tests.end_to_end.test_elsewhere import agentgrade
from tests.graded import QUIET_PLUGINS, Graded, run_pytest
from tests.grading.authored import CHECK, checks, write_task

KEY = "5e" * 32
SMALL, REFERENCE = "small", "reference"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """Two patches for the toy task: a right one, and one that sums small numbers only, which `test_a` tells."""
    folder = tmp_path_factory.mktemp("regrade")
    task = write_task(folder)
    (folder / "key").write_text(KEY)
    for mode, solution in (("right", REFERENCE), ("wrong", SMALL)):
        (folder / "patches" / mode).mkdir(parents=True)
        patch = render_patch(task.base, solution_tree(task, solution))
        (folder / "patches" / mode / "toy-1.patch").write_text(patch)
    done = run_pytest(
        folder, "--agent-patches=patches", "--agent-mode=right,wrong", "--agent-seed=1", "--agent-draws=key",
        "--agent-exit=measure", *QUIET_PLUGINS,
    )  # fmt: skip
    assert done.code == 0, done.output
    assert [record.passed for record in done.run.records()] == [10, 9]
    return done


@pytest.fixture
def copy(graded: Graded, tmp_path: Path) -> Path:
    shutil.copytree(graded.folder, tmp_path / "copy")
    return tmp_path / "copy"


def the_run(folder: Path) -> RunStore:
    (found,) = folder.glob("agentgrade-runs/*/run.json")
    return RunStore(found.parent)


def change_checks(folder: Path, change: Callable[[str], str]) -> Task:
    hidden = folder / "hidden_checks" / "toy"
    module = hidden / "test_toy.py"
    module.write_text(change(module.read_text()))
    return load_task(folder / "task_fixtures" / "toy", hidden)


def stricter(name: str, top: int = 10**6) -> Callable[[str], str]:
    """Make a check that knew small numbers only tell large ones as well."""
    small, large = CHECK.format(name=name, top=1, more=""), CHECK.format(name=name, top=top, more=', "small"')
    return lambda module: module.replace(small, large)


def test_a_mended_check_is_judged_on_the_recorded_inputs_and_marked(copy: Path) -> None:
    task, store = change_checks(copy, stricter("b")), the_run(copy)
    drawn = store.read_draws("toy")
    done = agentgrade("regrade", str(store.folder), folder=copy)
    assert done.returncode == 1 and "1 verdict differs from what was recorded" in done.stdout, done.stdout + done.stderr
    assert "toy: its checks have changed since the run was made; judged by them as they are now" in done.stdout
    assert "toy[wrong-1]: 8/10, was 9/10\n  test_b: failed, was passed" in done.stdout
    assert "toy[right-1]: 10/10, was 10/10\n" in done.stdout and "new inputs" not in done.stdout
    assert store.read_draws("toy") == drawn
    fingerprints = {verdict.fingerprint for record in store.records() for verdict in record.verdicts}
    assert fingerprints == {task.fingerprint} and task.fingerprint != store.run().tasks["toy"]
    said = "2 of 2 attempts at toy were judged again by checks that have changed since the run was made."
    assert said in report_on([store.folder]).render("text").replace("\n  ", " ")


def test_inputs_that_no_longer_tell_are_drawn_again_for_all(copy: Path) -> None:
    store = the_run(copy)
    recorded = store.read_draws("toy")
    assert recorded is not None
    before = (copy / "hidden_checks" / "toy" / "test_toy.py").read_text()
    for top in range(2, 9):
        task = change_checks(copy, lambda _, top=top: stricter("b", top)(before))
        check = next(check for check in load_checks(task) if check.name == "test_b")
        if misjudged(check, task, recorded["test_b"].n, int(recorded["test_b"].seed, 16)) == [SMALL]:
            break
    else:
        raise AssertionError("no range of numbers makes the recorded draw useless")
    done = agentgrade("regrade", str(store.folder), folder=copy)
    assert "  test_b: on its recorded inputs it now misjudges small; new inputs for all attempts" in done.stdout
    assert "toy[wrong-1]: 8/10, was 9/10\n  test_b: failed, was passed" in done.stdout, done.stdout + done.stderr
    drawn = store.read_draws("toy")
    assert drawn is not None and {name for name in drawn if drawn[name] != recorded[name]} == {"test_b"}
    used = {verdict.draw_seed for record in store.records() for verdict in record.verdicts if verdict.check == "test_b"}
    assert used == {drawn["test_b"].seed}, "no attempt has other inputs than the others"


def test_a_new_check_gets_inputs_and_a_removed_one_is_named(copy: Path) -> None:
    store = the_run(copy)
    change_checks(copy, lambda _: checks("kihgfedcba"))
    done = agentgrade("regrade", str(store.folder), folder=copy)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "  test_j: no longer a check\n" in done.stdout and "  test_k: passed, was not judged\n" in done.stdout
    assert "  test_k: was no check of the run; new inputs for all attempts\n" in done.stdout
    assert all(record.complete and len(record.verdicts) == 10 for record in store.records())


def test_a_check_that_breaks_changes_nothing(copy: Path) -> None:
    store = the_run(copy)
    change_checks(copy, lambda module: module.replace("number + number", "nonsense", 1))
    done = agentgrade("regrade", str(store.folder), folder=copy)
    assert done.returncode == 1 and "test_j breaks on reference" in done.stderr
    assert not list(store.folder.glob("attempts/toy/*/verdicts.1"))


def test_an_engine_that_fails_amid_judging_takes_no_verdict(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, started = the_run(copy), 0
    before = list(store.records())
    start: Any = DockerTransport.__init__

    def start_some(*args: Any) -> None:
        nonlocal started
        started += 1
        if started > 4:
            raise HostError("no space left on the engine's disk")
        start(*args)

    monkeypatch.setattr(DockerTransport, "__init__", start_some)
    with pytest.raises(HostError, match="no space left"):
        regrade(store.folder, copy, print)
    assert list(store.records()) == before and not list(store.folder.glob("attempts/toy/*/verdicts.1"))


def test_a_changed_task_and_a_damaged_submission_are_refused_before_anything_is_judged(copy: Path) -> None:
    store = the_run(copy)
    tree = store.folder / "attempts" / "toy" / "wrong-1" / "submission.tar"
    kept = tree.read_bytes()
    tree.write_bytes(b"no tar")
    done = agentgrade("regrade", str(store.folder), folder=copy)
    assert done.returncode == 1 and "cannot read" in done.stderr
    tree.write_bytes(kept)
    (copy / "task_fixtures" / "toy" / "prompt.md").write_text("Make it work soon.\n")
    done = agentgrade("regrade", str(store.folder), folder=copy)
    assert done.returncode == 2 and "task toy has changed since" in done.stderr
    assert not list(store.folder.glob("attempts/toy/*/verdicts.1"))


def test_verdicts_of_different_checks_make_no_pair(graded: Graded, copy: Path, tmp_path: Path) -> None:
    change_checks(copy, stricter("b"))
    agentgrade("regrade", str(the_run(copy).folder), folder=copy)
    (again,) = load_runs([the_run(copy).folder])
    old = next(record for record in graded.run.records() if record.key.mode == "right")
    new = next(record for record in again.records if record.key.mode == "wrong")
    found = prove_pair(in_run(old, graded.run.run()), in_run(new, again.run))
    assert [difference.what for difference in found.differences] == ["checks"]
    merged = tmp_path / "merged.xml"
    done = agentgrade("compare", str(the_run(copy).folder), "-o", str(merged), folder=copy)
    assert done.returncode == 0, done.stderr
    (read,) = load_runs([merged])
    marks = {verdict.fingerprint for record in read.records for verdict in record.verdicts}
    assert marks == {verdict.fingerprint for record in again.records for verdict in record.verdicts}
