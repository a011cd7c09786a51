"""Where a report goes, as a user calls it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from pytest_agentgrade.cli import EXIT_GATE, EXIT_OK, EXIT_USAGE, main
from pytest_agentgrade.errors import HostError, SettingsError
from pytest_agentgrade.records.junit_input import parse_junit
from pytest_agentgrade.reporting.output import FORMATS, format_of, write_report
from pytest_agentgrade.reporting.several_runs import report_on
from tests.reporting.hostile_records import evil_report
from tests.reporting.page_reader import UNSEEN, read_page
from tests.study_reconstruction import store_study

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return store_study(tmp_path / "study")


@pytest.mark.parametrize("command", ["report", "compare"])
@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("r.html", "<!DOCTYPE"),
        ("r.md", "baseline, mtp"),
        ("r.json", "{"),
        ("r.csv", "run,"),
        ("r.txt", "baseline, mtp"),
    ],
)
def test_the_name_of_the_file_says_the_format(
    study: Path, tmp_path: Path, capsys: Captured, command: str, name: str, begin: str
) -> None:
    file = tmp_path / name
    assert main([command, str(study), "-o", str(file)]) == EXIT_OK
    assert file.read_text(encoding="utf-8").startswith(begin)
    assert capsys.readouterr().out == f"written: {file}\n"


def test_a_folder_that_is_not_there_is_named_and_not_made(study: Path, tmp_path: Path, capsys: Captured) -> None:
    assert main(["report", str(study), "-o", str(tmp_path / "outt" / "r.html")]) == EXIT_USAGE
    assert f"there is no folder {tmp_path / 'outt'} - make it" in capsys.readouterr().err
    assert not (tmp_path / "outt").exists()


def test_a_format_that_is_given_wins(study: Path, tmp_path: Path) -> None:
    file = tmp_path / "checks"
    assert main(["report", str(study), "--format", "csv-checks", "-o", str(file)]) == EXIT_OK
    with file.open(newline="", encoding="utf-8") as stream:
        assert len(list(csv.reader(stream))) == 161


def test_beside_a_junit_file_the_report_is_printed(study: Path, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "all.xml"
    assert main(["compare", str(study), "-o", str(file), "--format", "json"]) == EXIT_OK
    said = capsys.readouterr()
    assert json.loads(said.out)["runs"] == ["study"] and said.err == f"written: {file}\n"
    assert len(list(parse_junit(file))) == 8
    assert main(["report", str(study), "-o", str(file)]) == EXIT_OK
    assert capsys.readouterr().out.endswith(f"written: {file}\n")


def test_a_name_that_stands_for_another_format_is_refused(study: Path, tmp_path: Path, capsys: Captured) -> None:
    code = main(["report", str(study), "--format", "markdown", "-o", str(tmp_path / "x.json")])
    assert code == EXIT_USAGE and not (tmp_path / "x.json").exists()
    said = "x.json is the name of a json file, not of markdown - leave out --format=markdown, or end the name in .md"
    assert said in capsys.readouterr().err
    assert (format_of(Path("x.txt"), "markdown"), format_of(Path("x.csv"), "csv-checks")) == ("markdown", "csv-checks")
    with pytest.raises(SettingsError, match=r"end the name in \.html"):
        format_of(Path("x.csv"), "html")


@pytest.mark.parametrize("style", FORMATS)
def test_without_a_file_it_is_printed(study: Path, capsys: Captured, style: str) -> None:
    assert main(["report", str(study), "--format", style]) == EXIT_OK
    shown = capsys.readouterr().out
    assert shown.endswith("\n") and not shown.endswith("\n\n") and "csv_ledger" in shown


def test_gates_are_told_beside_the_file(study: Path, tmp_path: Path, capsys: Captured) -> None:
    gate = ["--fail-if", "mtp.success_rate < baseline.success_rate"]
    assert main(["compare", str(study), "-o", str(tmp_path / "r.html"), *gate]) == EXIT_GATE
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("gate FAILED") and second.startswith("written")
    assert first in read_page((tmp_path / "r.html").read_text(encoding="utf-8")).text


def test_a_gate_that_is_no_question_writes_nothing(study: Path, tmp_path: Path) -> None:
    for name in ("r.html", "r.xml"):
        assert main(["compare", str(study), "-o", str(tmp_path / name), "--fail-if", "mtp.nothing < 1"]) == EXIT_USAGE
        assert not (tmp_path / name).exists()


def test_a_name_without_a_format_is_said(study: Path, tmp_path: Path, capsys: Captured) -> None:
    assert main(["report", str(study), "-o", str(tmp_path / "report.pdf")]) == EXIT_USAGE
    assert "the name report.pdf says no format - end it in one of .txt, .md, .json, .html" in capsys.readouterr().err
    with pytest.raises(SettingsError):
        format_of(Path("report"))
    assert format_of(Path("REPORT.HTML")) == "html"


def test_a_file_that_cannot_be_written_is_said(study: Path, tmp_path: Path) -> None:
    (tmp_path / "r.html").mkdir()
    with pytest.raises(HostError, match="cannot write"):
        write_report(report_on([study]), tmp_path / "r.html")


def test_json_of_hostile_records_is_well_formed(tmp_path: Path) -> None:
    text = evil_report(tmp_path / "evil").render("json")
    assert UNSEEN.search(text) is None and json.loads(text)["attempts"][0]["passed"] == 10
