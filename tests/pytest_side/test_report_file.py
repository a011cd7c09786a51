"""``--agent-report``: the report as a file at the end of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graded import QUIET_PLUGINS, run_pytest
from tests.reporting.page_reader import read_page

from .test_odd_calls import PATCH

GRADE = ("--agent-patches=patches", "--agent-seed=1", "-k", "what_is_no_ttl_is_refused", *QUIET_PLUGINS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches" / "expiring_cache.patch").write_text(PATCH)
    return tmp_path


def test_the_page_is_written_once_by_the_controller_and_named(folder: Path) -> None:
    (folder / "out").mkdir()
    done = run_pytest(folder, *GRADE, "--agent-report=out/report.html", "-n", "2")
    file = folder / "out" / "report.html"
    assert done.output.count(f"report: {file}") == 1, done.output
    page = read_page(file.read_text(encoding="utf-8"))
    assert f"{done.run.folder.name}/attempts/expiring_cache/patches-1" in page.text
    assert "expiring_cache/zz.py" in page.text and "what is no ttl is refused" in page.text


def test_a_format_that_cannot_be_is_said_before_anything_starts(folder: Path) -> None:
    done = run_pytest(folder, *GRADE, "--agent-report=report.pdf")
    assert done.code == pytest.ExitCode.USAGE_ERROR and "the name report.pdf says no format" in done.output
    assert not (folder / "agentgrade-runs").exists()


def test_a_file_that_cannot_be_written_is_said(folder: Path) -> None:
    (folder / "report.html").mkdir()
    done = run_pytest(folder, *GRADE, "--agent-report=report.html")
    assert "the report is not complete: cannot write" in done.output and "working" in done.output
