"""Temporary folders can be told by their names, and only those of dead processes are removed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pytest_agentgrade.sandbox.owner import Owner
from pytest_agentgrade.sandbox.temporary import make_folder, remove_folders, sweep_folders, temporary_folder


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_is_ours_alone_and_gone_afterwards(temporary: Path) -> None:
    with temporary_folder() as folder:
        assert folder.is_relative_to(temporary) and folder.stat().st_mode & 0o777 == 0o700
        (folder / "deep" / "down").mkdir(parents=True)
        assert sweep_folders() == ()
    assert not folder.exists()


def test_only_the_named_owners_folders_are_removed() -> None:
    ours = make_folder()
    (ours / "file").touch()
    me = Owner.current()
    other = Owner(me.pid, me.start_time - 1, me.boot_id, me.host_id)
    assert remove_folders(other) == () and ours.exists()
    assert remove_folders(me) == (ours,) and not ours.exists()


def test_what_dead_processes_left_is_swept_and_foreign_names_stay(temporary: Path) -> None:
    code = "from pytest_agentgrade.sandbox.temporary import make_folder; print(make_folder())"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"TMPDIR": str(temporary)}, capture_output=True, text=True, check=True
    )
    left, here = Path(done.stdout.strip()), make_folder()
    (left / "file").touch()
    number = left.name.split("-")[1]
    strange = [here.parent / name for name in ("x", "x-1-2-3", f"ffffff-{number}-5-abc", "a-b-c-d")]
    for folder in strange:
        folder.mkdir()
    assert sweep_folders() == (left,)
    assert not left.exists() and here.exists() and all(folder.exists() for folder in strange)
