"""Tables and prose that keep to the page."""

from __future__ import annotations

import pytest

from pytest_agentgrade.reporting.page import TableRow, fold, page_width
from pytest_agentgrade.reporting.table import markdown_table, text_table


def test_heads_of_two_lines_stand_on_the_cells() -> None:
    assert text_table(("mode", "working\npatches"), [("a", "1/2")]) == [
        "      working",
        "mode  patches",
        "a         1/2",
    ]


def test_markdown_has_them_in_one_line() -> None:
    assert markdown_table(("t\n", "time to\npatch", "patches/\nhour"), [])[0] == "| t | time to patch | patches/hour |"


def test_a_long_first_cell_goes_on_in_the_next_line() -> None:
    rows = [("a_long_name_for_a_check_and_more_of_it_still", "1"), ("b", "2")]
    lines = text_table(("t", "x" * 30), rows, width=60)
    assert lines[1] == "a_long_name_for_a_check_and_more_of_it"
    assert lines[2].split() == ["_still", "1"] and lines[2].startswith("  _still")


def test_columns_without_room_make_another_table_with_the_first_column_again() -> None:
    lines = text_table(("t", "a" * 30, "b" * 30), [("row", "1", "2")], width=60)
    assert [line.split() for line in lines] == [["t", "a" * 30], ["row", "1"], [], ["t", "b" * 30], ["row", "2"]]


def test_prose_is_folded_and_tables_are_not() -> None:
    row = TableRow("x  " * 40)
    lines = fold(["short", row, "  " + "word " * 30], 60)
    assert lines[:2] == ["short", row]
    assert all(len(line) <= 60 for line in lines[2:]) and lines[2].startswith("  word") and lines[3].startswith("    w")
    assert " ".join(" ".join(lines[2:]).split()) == " ".join(["word"] * 30)


def test_a_figure_is_not_torn_from_its_unit() -> None:
    assert fold(["x" * 56 + " 50 % and more"], 60)[1] == "  50 % and more"


def test_what_is_to_be_copied_is_never_broken() -> None:
    path = "/a-long/path-to/" + "x" * 100
    assert fold([f"see {path} for more"], 60)[1].strip() == path


@pytest.mark.parametrize(("columns", "width"), [("20", 60), ("72", 72), ("300", 100)])
def test_the_page_is_the_terminal_within_limits(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert page_width() == width
