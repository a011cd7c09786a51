"""Runs by path, by name, by age."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.records.finding import find_run, newest_run, newest_runs, shown_path
from tests.records_made_here import a_key, an_attempt
from tests.stored_runs import store_run


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Names say nothing about age: ``zz`` is the oldest run. One run is of another version."""
    base = tmp_path / "agentgrade-runs"
    for age, (name, mode) in enumerate((("zz", "mtp"), ("b", "mtp"), ("a", "baseline"))):
        store_run(base / name, [an_attempt(a_key(mode))], created_at=float(age))
    (base / "later").mkdir()
    (base / "later" / "run.json").write_text("{}")
    return base


def test_the_newest_run_is_the_one_begun_last(base: Path) -> None:
    assert newest_run(base.parent).name == "a"
    assert [folder.name for folder in newest_runs(base.parent, ["mtp", "baseline"])] == ["b", "a"]


def test_a_path_comes_before_a_name(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_run(Path("zz"), tmp_path) == base / "zz"
    Path("zz").mkdir()
    assert find_run(Path("zz"), tmp_path) == Path("zz")


def test_what_is_not_there_is_told_with_what_is(base: Path) -> None:
    with pytest.raises(SettingsError, match=r"x is no path, and no run in .* the newest runs there: a, b, zz"):
        find_run(Path("x"), base.parent)
    with pytest.raises(SettingsError, match=r"there is no run in .* run pytest first"):
        newest_run(base)
    with pytest.raises(SettingsError, match="give the path of its folder"):
        find_run(Path("x"), base)
    with pytest.raises(SettingsError, match=r"no run of mode 'q4' .* - pytest --agent-mode=q4$"):
        newest_runs(base.parent, ["q4"])


def test_modes_that_are_to_be_compared_are_best_run_together(base: Path) -> None:
    with pytest.raises(SettingsError, match=r"no run of mode 'q4' .* - pytest --agent-mode=mtp,q4: one run of all"):
        newest_runs(base.parent, ["mtp", "q4"])


def test_paths_are_shown_from_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown_path(tmp_path / "a" / "b") == Path("a/b")
    assert shown_path(Path("/elsewhere/c")) == Path("/elsewhere/c")
