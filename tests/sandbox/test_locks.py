"""Locks lie where nobody else can put anything in their place."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.sandbox.locks import locks_folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_folder_is_ours_alone_and_stays(temporary: Path) -> None:
    folder = locks_folder()
    assert folder.parent == temporary and folder.stat().st_mode & 0o777 == 0o700
    (folder / "clock.lock").touch()
    assert locks_folder() == folder and (folder / "clock.lock").exists()


def test_a_link_or_a_file_in_its_place_is_refused(temporary: Path) -> None:
    place, elsewhere = temporary / f"agentgrade-{os.getuid()}", temporary / "elsewhere"
    elsewhere.mkdir()
    place.symlink_to(elsewhere)
    with pytest.raises(HostError, match="is no folder of yours - remove it or set TMPDIR"):
        locks_folder()
    place.unlink()
    place.touch()
    with pytest.raises(HostError, match="cannot make our folder"):
        locks_folder()
    assert list(elsewhere.iterdir()) == []
