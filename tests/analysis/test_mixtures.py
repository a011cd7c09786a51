"""Runs that are pooled under one mode's name although they were not the same thing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_agentgrade.analysis.experiment import arrange
from pytest_agentgrade.analysis.mixtures import mixtures
from pytest_agentgrade.records.inputs import load_runs
from pytest_agentgrade.reporting.several_runs import report_on
from tests.analysis.proven_records import MODE_ARGS, a_full_attempt, a_server
from tests.stored_runs import store_run


def a_stored_run(folder: Path, created_at: float, seed: int, model: str = "aa", **agent: Any) -> Path:
    records = [
        a_full_attempt(mode, seed=seed, server=a_server(MODE_ARGS[mode], model_sha256=model * 32), **agent)
        for mode in ("baseline", "mtp")
    ]
    return store_run(folder, records, created_at=created_at)


def test_two_models_under_one_name_are_told(tmp_path: Path) -> None:
    one = a_stored_run(tmp_path / "r1", 1.0, seed=1)
    other = a_stored_run(tmp_path / "r2", 2.0, seed=2, model="bb", task_seconds=900.0)
    found = mixtures(arrange(load_runs([one, other])))
    assert [line.split(".")[0] for line in found] == [
        f"{mode}: its attempts differ in task seconds, model file" for mode in ("baseline", "mtp")
    ]
    report = report_on([one, other])
    assert found[0].split()[0] in report.render("text") and "mix them" in " ".join(report.render("text").split())
    assert json.loads(report.render("json"))["mixtures"] == found


def test_runs_of_the_same_thing_are_no_mixture(tmp_path: Path) -> None:
    runs = [a_stored_run(tmp_path / f"r{n}", float(n), seed=n) for n in (1, 2)]
    assert mixtures(arrange(load_runs(runs))) == []
