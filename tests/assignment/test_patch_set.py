"""Patches whose names are no task's: told, and refused where the name is a slip."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentgrade.assignment.layers import Layer
from pytest_agentgrade.assignment.settings import resolve
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.run_setup import RunSetup, prepare


def prepared(folder: Path, *files: str, modes: tuple[str, ...] = ("patches",), **settings: object) -> RunSetup:
    for file in files:
        (folder / "p" / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / "p" / file).write_text("")
    return prepare(resolve([Layer("t", settings)]), folder, modes, folder / "p")


def test_what_lies_beside_patches_is_nobodys_business(tmp_path: Path) -> None:
    setup = prepared(tmp_path, "csv_ledger.patch", "README.md", "csv_ledger.patch.orig", "notes/a.txt")
    assert setup.notes == ("no patch for build_planner, expiring_cache, sqlite_transfers",)


def test_a_patch_of_no_task_is_named(tmp_path: Path) -> None:
    setup = prepared(tmp_path, "csv_ledger.patch", "all.diff", "csv_ledger-old.patch")
    (note,) = [note for note in setup.notes if note.startswith("not used")]
    assert note.startswith("not used, as no task is named so: all.diff, csv_ledger-old.patch (tasks: build_planner, ")


@pytest.mark.parametrize("slip", ["csv_leger.patch", "csv-ledger.diff", "m/csv_leger-7.patch"])
def test_a_slip_is_refused(tmp_path: Path, slip: str) -> None:
    with pytest.raises(SettingsError, match=r"is named like no task - did you mean csv_ledger(-7)?\.(patch|diff)\?"):
        prepared(tmp_path, "expiring_cache.patch", slip, modes=("m",))


def test_what_other_modes_seeds_and_tasks_have_is_no_slip(tmp_path: Path) -> None:
    files = ("m/csv_ledger-1.patch", "m/csv_ledger-2.patch", "n/csv_leger.patch", "m/expiring_cache.patch")
    setup = prepared(tmp_path, *files, modes=("m",), seeds=[1], tasks=["csv_ledger"])
    assert [key.label for key in setup.plan.keys] == ["m-1"] and setup.notes == ()


def test_folders_of_modes_that_were_not_asked_for_are_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"it has patches in baseline, mtp: name them with --agent-mode=baseline,"):
        prepared(tmp_path, "mtp/csv_ledger.patch", "baseline/csv_ledger.patch", "x/README.md")


def test_patches_for_other_seeds_are_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="it has patches for other seeds: name them with --agent-seed=7,30"):
        prepared(
            tmp_path, "m/csv_ledger-7.patch", "m/csv_ledger-30.patch", "m/nothing-8.patch", modes=("m",), seeds=[1]
        )


def test_where_nothing_fits_it_is_said_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"holds no patch for .* - there is a\.patch, b\.patch: name the files"):
        prepared(tmp_path, "b.patch", "a.patch")
