"""Reports of pytest's whose text came from a candidate."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from tests.graded import run_pytest

ODD = "\\x1b[2J\\u202egolb\\x07 ]]> <script>"
PLUGIN = """
from pytest_agentgrade.reporting.harmless import escape_report
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    escape_report(report)
    return report
"""
TEST = f"""
def test_texts(record_property):
    print("{ODD}")
    record_property("said", "{ODD}")
    said = "{ODD}"
    assert said == "expected"

def test_lines():
    assert ["a", "{ODD}"] == ["a"], "{ODD}"

def test_plain():
    assert 1 == 2
"""


def test_both_sides_of_a_comparison_are_escaped_everywhere(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(PLUGIN)
    (tmp_path / "test_odd.py").write_text(TEST)
    done = run_pytest(tmp_path, "--junitxml=junit.xml", "-vv", "-rA", "--showlocals", "--color=yes", "-n2", seconds=60)
    assert done.code == 1 and done.output.count("\\x1b[2J\\u202egolb\\x07") > 4
    assert "\x1b[2J" not in done.output and "\u202e" not in done.output and "\x07" not in done.output
    text = (tmp_path / "junit.xml").read_text(encoding="utf-8")
    assert "\u202e" not in text and not list(ElementTree.fromstring(text).iter("script"))
    assert re.search(r"test_odd\.py\x1b\[0m:\d+: AssertionError", done.output), "an ordinary report keeps its form"
