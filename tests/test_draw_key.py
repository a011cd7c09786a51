from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_agentgrade.draw_key import choose_draw_key
from pytest_agentgrade.errors import HostError, SettingsError


def test_without_a_file_every_key_is_new() -> None:
    assert choose_draw_key(None) != choose_draw_key(None) and len(choose_draw_key(None)) == 64


def test_runs_that_name_a_file_share_its_key(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    file = tmp_path / "a" / "draws.key"
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(choose_draw_key, [file] * 32))
    assert len(keys) == 1 and keys == {file.read_text().strip()}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["draws.key"]


@pytest.mark.parametrize("text", ["", "abc", "g" * 64, "a" * 65, "\u00e9" * 64])
def test_a_file_that_holds_no_key_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "key").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match="holds no key of draws"):
        choose_draw_key(tmp_path / "key")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "key").mkdir()
    with pytest.raises(HostError, match="choose another --agent-draws"):
        choose_draw_key(tmp_path / "key")


def test_its_folder_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="nowhere"):
        choose_draw_key(tmp_path / "nowhere" / "key")
    assert list(tmp_path.iterdir()) == []
