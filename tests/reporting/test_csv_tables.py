"""Records as CSV: read back they are what they were, and no spreadsheet calculates anything."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

from pytest_agentgrade.records.loaded import load_folder
from pytest_agentgrade.reporting.csv_tables import ATTEMPT_COLUMNS, CHECK_COLUMNS, neutral
from pytest_agentgrade.reporting.several_runs import Report, report_on
from tests.records_made_here import a_key, an_attempt
from tests.reporting.hostile_records import EVIL, evil_report
from tests.reporting.page_reader import UNSEEN
from tests.stored_runs import store_run
from tests.study_reconstruction import store_study

DOCUMENT = Path(__file__).parents[2] / "docs" / "reports.md"


def rows_of(report: Report, table: str) -> list[dict[str, str]]:
    text = report.render(table)
    assert text.endswith("\r\n")
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_a_row_for_each_attempt_says_what_its_record_says(tmp_path: Path) -> None:
    folder = store_study(tmp_path / "study")
    rows = rows_of(report_on([folder]), "csv")
    assert len(rows) == 16
    for row, record in zip(rows, load_folder(folder).records, strict=True):
        agent, submission = record.agent, record.submission
        assert agent is not None and submission is not None
        assert (row["task"], row["mode"], int(row["seed"])) == (record.key.task, record.key.mode, record.key.seed)
        assert (
            float(row["task_clock_s"]) == agent.clock_seconds and float(row["generation_s"]) == agent.predicted_seconds
        )
        assert int(row["generated_tokens"]) == agent.predicted_tokens and int(row["checks_passed"]) == record.passed
        assert row["works"] == str(record.delivers).lower() and row["state"] == "counted"
        assert row["endings"].split() == [ending.ending for ending in submission.endings]
        assert (folder / row["folder"]).is_dir() and row["submission_digest"] == submission.digest
        assert row["drafted_tokens"] == "", "not known is empty, not zero"
        assert (row["session"], row["server_program_sha256"], row["server_environment"]) == ("s", "dd" * 32, "(empty)")


def test_a_row_for_each_verdict(tmp_path: Path) -> None:
    folder = store_study(tmp_path / "study")
    rows = rows_of(report_on([folder]), "csv-checks")
    verdicts = [(record, verdict) for record in load_folder(folder).records for verdict in record.verdicts]
    assert len(rows) == len(verdicts) == 160
    for row, (record, verdict) in zip(rows, verdicts, strict=True):
        assert (row["task"], row["check"], row["outcome"]) == (record.key.task, verdict.check, verdict.outcome)
        assert float(row["check_s"]) == verdict.seconds and row["beyond"] == "false"


def test_states_are_told_apart(tmp_path: Path) -> None:
    records = [an_attempt(a_key(seed=1)), an_attempt(a_key(seed=2), fault="host"), an_attempt(a_key(seed=3), checks=4)]
    folder = store_run(tmp_path / "run", [*records, an_attempt(a_key(seed=4))])
    for path in sorted((folder / "attempts" / "t" / "mtp-4").rglob("*.json")):
        path.unlink()
    rows = rows_of(report_on([folder]), "csv")
    assert [row["state"] for row in rows] == ["counted", "fault", "partial", "not_run"]
    assert [row["works"] for row in rows] == ["true", "", "", ""]
    assert rows[1]["fault_message"] == "no disk" and rows[3]["checks_passed"] == ""


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "\t", "\n=", "\uff1d", "\uff0d"])
def test_text_is_never_a_formula(start: str) -> None:
    assert neutral(f"{start}1+1") == f"'{start}1+1"


@pytest.mark.parametrize(("value", "cell"), [(-9, -9), (None, None), ("a=b", "a=b"), ("\r=1", "\\x0d=1"), ("", "")])
def test_everything_else_stays(value: str | int | None, cell: str | int | None) -> None:
    assert neutral(value) == cell


@pytest.mark.parametrize("table", ["csv", "csv-checks"])
def test_hostile_text_stays_in_its_cell(tmp_path: Path, table: str) -> None:
    report = evil_report(tmp_path / "evil")
    text = report.render(table)
    assert UNSEEN.search(text.replace("\r\n", "\n")) is None
    rows = rows_of(report, table)
    assert len(rows) == (4 if table == "csv" else 20)
    assert all(None not in row and None not in row.values() for row in rows), "no row has more or fewer cells"
    cells = [cell for row in rows for cell in row.values()]
    assert any("<script>" in cell for cell in cells)
    assert not [cell for cell in cells if re.match(r"\s*[=@+]", cell)], EVIL


def test_every_column_is_documented_in_its_order() -> None:
    text = DOCUMENT.read_text(encoding="utf-8").partition("## CSV")[2]
    found = re.findall(r"^\| `(\w+)` ", text, re.MULTILINE)
    assert found == [*ATTEMPT_COLUMNS, *(name for name in CHECK_COLUMNS if name not in ATTEMPT_COLUMNS)]
