from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_agentgrade.errors import HostError, SettingsError
from pytest_agentgrade.records.model import FaultRecord, SubmissionPhase, WorkspacePhase
from pytest_agentgrade.records.store import AttemptStore, RunStore
from pytest_agentgrade.records.tree_file import read_tree, write_tree
from pytest_agentgrade.submission.tree import Tree, TreeFile
from tests.records_made_here import a_key, a_run, a_verdict, an_attempt

WORKSPACE = WorkspacePhase(tree_digest="t", commit_id="c", task_digest="d", prompt_sha256="p", seconds=0.5)


def test_a_record_is_the_fold_of_its_finished_phases(tmp_path: Path) -> None:
    store = AttemptStore(tmp_path / "a", a_key())
    assert store.record().workspace is None and not store.record().complete
    store.write(WORKSPACE)
    assert store.record().workspace == WORKSPACE and store.record().agent is None
    store.write(SubmissionPhase(origin="agent", digest="x"))
    for number in range(10):
        assert not store.record().complete
        store.write_verdict(a_verdict(number))
    store.write_verdict(a_verdict(0, "failed", beyond=True))
    assert store.record().complete and store.record().delivers and store.record().passed == 10


def test_an_attempt_with_a_fault_or_an_error_is_not_counted() -> None:
    assert an_attempt().complete
    assert not an_attempt(fault="host").complete
    assert not an_attempt(checks=9).complete
    errors = an_attempt().model_copy(
        update={"verdicts": [a_verdict(n, "error" if n == 3 else "passed") for n in range(10)]}
    )
    assert not errors.complete and not errors.delivers


def test_a_later_verdict_on_the_same_check_replaces_the_first(tmp_path: Path) -> None:
    store = AttemptStore(tmp_path / "a", a_key())
    store.write_verdict(a_verdict(1, "failed"))
    store.write_verdict(a_verdict(1, "passed"))
    assert [verdict.outcome for verdict in store.record().verdicts] == ["passed"]


def test_a_faulty_attempt_is_set_aside_and_kept(tmp_path: Path) -> None:
    store = AttemptStore(tmp_path / "a", a_key())
    for _ in range(2):
        store.write(FaultRecord(fault="host", message="no disk", phase="server"))
        store.clear()
        assert store.record().fault is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.try1", "a.try2"]


def test_records_come_in_plan_order_and_one_for_every_planned_attempt(tmp_path: Path) -> None:
    planned = [an_attempt(a_key(mode, seed)) for seed in (2, 1) for mode in ("on", "off")]
    store = RunStore(tmp_path / "run")
    store.create(a_run(planned))
    assert [record.key.label for record in store.records()] == ["on-2", "off-2", "on-1", "off-1"]


def test_a_submission_comes_back_as_it_was(tmp_path: Path) -> None:
    tree = Tree({"a/ü.py": TreeFile(b"x\r\n\0\xff"), "run.sh": TreeFile(b"", executable=True)})
    store = AttemptStore(tmp_path / "a", a_key())
    store.write_submission(tree)
    assert store.read_submission() == tree and store.read_submission().digest == tree.digest
    assert write_tree(tree) == write_tree(read_tree(write_tree(tree)))


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    store = AttemptStore(tmp_path / "a", a_key())
    with pytest.raises(HostError, match=r"cannot read .*submission\.tar"):
        store.read_submission()
    store.path("1-workspace.json").write_text('{"tree_digest": 5}')
    with pytest.raises(HostError, match=r"1-workspace\.json is no WorkspacePhase .*: tree_digest"):
        store.record()
    with pytest.raises(SettingsError, match="holds no run"):
        RunStore(tmp_path).run()
    (tmp_path / "run.json").write_bytes(b"\xf7\xff")
    with pytest.raises(HostError, match=r"cannot read .*run\.json"):
        RunStore(tmp_path).run()


def test_a_run_of_an_older_version_is_read_without_its_empty_image(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "run")
    store.create(a_run())
    written = tmp_path / "run" / "run.json"
    kept = store.run()
    written.write_text(written.read_text().replace('"patches"', '"image": null, "image_id": null, "patches"'))
    assert store.run() == kept
    written.write_text(written.read_text().replace('"image_id"', '"picture"'))
    with pytest.raises(HostError, match=r"run\.json is no RunRecord of schema 1: picture"):
        store.run()


def test_another_schema_is_refused(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "run")
    store.create(a_run())
    written = tmp_path / "run" / "run.json"
    written.write_text(written.read_text().replace('"schema_version": 1', '"schema_version": 2'))
    with pytest.raises(HostError, match=r"run\.json is no RunRecord of schema 1: schema_version"):
        store.run()


def test_a_set_that_was_removed_by_hand_hinders_nobody(tmp_path: Path) -> None:
    store = AttemptStore(tmp_path / "a", a_key())
    for number in range(3):
        store.write_text("which", str(number))
        store.clear()
    shutil.rmtree(tmp_path / "a.try1")
    store.write_text("which", "3")
    store.clear()
    assert [(tmp_path / f"a.try{n}" / "which").read_text() for n in (1, 2, 3)] == ["3", "1", "2"]


def test_verdicts_are_replaced_all_at_once_and_kept(tmp_path: Path) -> None:
    store = AttemptStore(tmp_path / "a", a_key())
    for outcome in ("failed", "passed"):
        store.replace_verdicts([a_verdict(1, outcome), a_verdict(2, outcome)])
    assert [verdict.outcome for verdict in store.record().verdicts] == ["passed", "passed"]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["verdicts", "verdicts.1"]


def test_a_kill_between_the_renames_of_a_replacement_loses_no_verdict(tmp_path: Path) -> None:
    store = AttemptStore(tmp_path / "a", a_key())
    store.replace_verdicts([a_verdict(1, "failed")])
    store.replace_verdicts([a_verdict(1, "passed")])
    (tmp_path / "a" / "verdicts").rename(tmp_path / "a" / ".verdicts")
    assert [verdict.outcome for verdict in store.record().verdicts] == ["passed"]
    store.write_verdict(a_verdict(2, "failed"))
    assert [verdict.outcome for verdict in store.record().verdicts] == ["passed", "failed"]
    store.replace_verdicts([a_verdict(1, "error")])
    assert [verdict.outcome for verdict in store.record().verdicts] == ["error"]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["verdicts", "verdicts.1", "verdicts.2"]
    assert len(list((tmp_path / "a" / "verdicts.2").iterdir())) == 2


def test_a_submission_that_is_not_the_recorded_one_is_refused(tmp_path: Path) -> None:
    tree, store = Tree({"a": TreeFile(b"x")}), AttemptStore(tmp_path / "a", a_key())
    store.write_submission(tree)
    store.write(SubmissionPhase(origin="agent", digest=tree.digest))
    assert store.read_submission() == tree
    written = tmp_path / "a" / "submission.tar"
    written.write_bytes(written.read_bytes().replace(b"x", b"y"))
    with pytest.raises(HostError, match=r"submission\.tar is not the tree of 4-submission\.json"):
        store.read_submission()


@pytest.mark.parametrize("name", ["../x", "a/b", "..", ""])
def test_no_name_leads_out_of_the_run(tmp_path: Path, name: str) -> None:
    with pytest.raises(HostError, match="cannot name a file"):
        RunStore(tmp_path).attempt(a_key(task=name))


def test_a_full_disk_is_the_hosts_fault(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(HostError, match="cannot write"):
        AttemptStore(blocked / "a", a_key()).write_text("x", "y")


def test_what_cannot_be_written_leaves_no_part_of_it(tmp_path: Path) -> None:
    """A disk that is full: of the process's files none may be larger than 100 kB."""
    code = (
        "import resource, signal, sys; from pathlib import Path; from tests.records_made_here import a_key\n"
        "from pytest_agentgrade.errors import HostError; from pytest_agentgrade.records.store import AttemptStore\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "store = AttemptStore(Path(sys.argv[1]), a_key())\n"
        "try: store.write_text('file', 'x' * 300_000)\n"
        "except HostError as error: print(error)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a")]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    assert "cannot write" in done.stdout and list((tmp_path / "a").iterdir()) == []


def test_kill_9_never_leaves_half_a_file(tmp_path: Path) -> None:
    """A process writes two versions in turn; wherever it is killed, one of them is there, whole."""
    code = (
        "import sys; from pathlib import Path; from tests.records_made_here import a_key\n"
        "from pytest_agentgrade.records.store import AttemptStore\n"
        "store = AttemptStore(Path(sys.argv[1]), a_key())\n"
        "while True:\n"
        "    for letter in 'xy': store.write_text('file', letter * 300_000)\n"
    )
    for pause in (0.0, 0.01, 0.02, 0.03):
        process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "a")], cwd=Path(__file__).parents[2])
        while not (tmp_path / "a" / "file").exists():
            assert process.poll() is None
        time.sleep(pause)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        text = (tmp_path / "a" / "file").read_text()
        assert text in ("x" * 300_000, "y" * 300_000)
