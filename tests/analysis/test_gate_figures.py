"""Gates may name every number that the JSON report gives of a mode and of its comparison."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_agentgrade.analysis.contrasts import contrasts
from pytest_agentgrade.analysis.experiment import arrange
from pytest_agentgrade.analysis.gate_figures import (
    SHORT_NAMES,
    contrast_names,
    gate_figures,
    mode_names,
    refuse_unknown_metrics,
)
from pytest_agentgrade.analysis.gates import GateError, parse_gate
from pytest_agentgrade.records.loaded import LoadedRun
from pytest_agentgrade.reporting.several_runs import Report
from tests.analysis.proven_records import OFF, a_full_attempt, a_server
from tests.records_made_here import a_run
from tests.stored_runs import HOST, SETTINGS

DOCS = Path(__file__).parents[2] / "docs" / "comparing.md"


@pytest.fixture(scope="module")
def run() -> LoadedRun:
    records = [
        a_full_attempt(mode, 10 if (seed + shift) % 3 else 2, seed=seed, seconds=90.0 + seed + shift, server=server)
        for seed in range(1, 10)
        for shift, mode, server in (
            (0, "baseline", a_server()), (1, "mtp", None), (0, "ub256", a_server((*OFF, "-ub", "256"))),
        )
    ]  # fmt: skip
    tables = {"ub256": {"placebo_of": "baseline"}}
    return LoadedRun(a_run(records, host=HOST, settings=SETTINGS, modes=tables), tuple(records), Path("r1"))


@pytest.fixture(scope="module")
def figures(run: LoadedRun) -> dict[str, dict[str, float | None]]:
    experiment = arrange([run])
    return gate_figures(experiment, contrasts(experiment), 8192)


def numbers(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """All numbers in JSON values, by dotted name; lists count from 1."""
    if isinstance(value, (int, float)):
        yield name, value
    parts = value.items() if isinstance(value, dict) else enumerate(value, 1) if isinstance(value, list) else ()
    for key, inner in parts:
        yield from numbers(inner, f"{name}.{key}" if name else str(key))


def test_every_number_of_the_json_report_has_a_name(run: LoadedRun, figures: dict[str, dict[str, float]]) -> None:
    report = json.loads(Report((run,)).render("json"))
    for mode in report["modes"]:
        for name, value in numbers(mode):
            assert figures[mode["mode"]][name] == pytest.approx(value), name
    for comparison in report["comparisons"] + report["placebos"]:
        told = comparison["figures"]
        for side in ("first", "second"):
            for name, value in numbers(told.pop(side)):
                assert figures[comparison[side]][name] == pytest.approx(value), name
        for name, value in numbers(told):
            assert figures[comparison["second"]][name] == pytest.approx(value), name
        assert figures[comparison["second"]]["alone"] == comparison["alone"]


def test_the_names_of_the_tables_are_known_as_well(figures: dict[str, dict[str, float]]) -> None:
    mtp = figures["mtp"]
    assert mtp["tok_s"] == mtp["tokens_per_second"] == pytest.approx(36.0)
    assert mtp["time_to_patch"] == mtp["seconds_to_patch"] is not None
    assert (mtp["difference_low"], mtp["difference_high"]) == (
        mtp["difference_interval.low"], mtp["difference_interval.high"],
    )  # fmt: skip
    assert 0 < mtp["noise_floor"] <= 1 and 0 < mtp["repeats.differ"] < 1


def test_names_do_not_depend_on_what_a_run_happens_to_hold(figures: dict[str, dict[str, float]]) -> None:
    nothing = [a_full_attempt(mode, seed=1, first_request_sha256=mode) for mode in ("baseline", "mtp")]
    experiment = arrange([LoadedRun(a_run(nothing), tuple(nothing), Path("r1"))])
    bare = gate_figures(experiment, contrasts(experiment), 8192)["mtp"]
    assert {*mode_names(), *contrast_names(), *SHORT_NAMES, "pass_at_k.1"} == bare.keys()
    assert {name for name in figures["mtp"] if not re.search(r"\.[2-9]$", name)} == bare.keys()
    assert (bare["p"], bare["invalid_pairs"], bare["repeats.differ"]) == (None, 1, None)
    result = parse_gate("mtp.rates.ratio < 1").evaluate({"mtp": bare})
    assert result.tripped and "mtp.rates.ratio is not known" in result.line()


def test_the_first_mode_has_no_comparison_of_its_own(figures: dict[str, dict[str, float]]) -> None:
    assert "difference" not in figures["baseline"] and "difference" in figures["ub256"]


def test_the_documentation_lists_every_name() -> None:
    told = set(re.findall(r"`([a-z0-9_.]+)`", DOCS.read_text(encoding="utf-8")))
    missing = [name for name in (*mode_names(), *contrast_names(), *SHORT_NAMES) if name not in told]
    assert not missing


def test_every_name_of_a_figure_may_be_asked_before_there_are_runs(figures: dict[str, dict[str, float]]) -> None:
    for name in {name for known in figures.values() for name in known}:
        refuse_unknown_metrics(parse_gate(f"mtp.{name} > 0"))
    with pytest.raises(GateError, match=r"there is no metric 'pass_at_k\.x'"):
        refuse_unknown_metrics(parse_gate("mtp.pass_at_k.x > 0"))
