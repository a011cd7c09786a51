"""Where a report goes: to the terminal, or to a file in the format that its name asks for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_agentgrade.errors import HostError, SettingsError
from pytest_agentgrade.places import require_folder

if TYPE_CHECKING:
    from pytest_agentgrade.reporting.several_runs import Report

FORMATS = ("text", "markdown", "json", "html", "csv", "csv-checks")
"""What a report can be rendered as."""
_JUNIT = "junit"
_BY_NAME = {
    ".txt": "text", ".md": "markdown", ".json": "json", ".html": "html", ".htm": "html", ".csv": "csv", ".xml": _JUNIT,
}  # fmt: skip


def format_of(file: Path, given: str | None = None) -> str:
    """``given``, else what the name's ending stands for; SettingsError when it stands for nothing, or cannot be made.

    To be called before a long run whose report it is to be.
    """
    chosen = _BY_NAME.get(file.suffix.lower()) if given is None else given
    if chosen is None:
        raise SettingsError(f"the name {file.name} says no format", f"end it in one of {', '.join(_BY_NAME)}")
    if chosen == "html":
        from pytest_agentgrade.reporting.html_page import require_html

        require_html()
    return chosen


def write_report(report: Report, file: Path, given: str | None = None) -> None:
    """Write the report to ``file``; SettingsError for a format that cannot be, HostError when it cannot be written."""
    chosen = format_of(file, given)
    if chosen == _JUNIT:
        from pytest_agentgrade.reporting.junit_merge import write_merged

        write_merged(list(dict.fromkeys(run.source for run in report.runs)), file)
        return
    text = report.render(chosen)
    try:
        file.write_bytes(_ended(text).encode())
    except OSError as error:
        raise HostError(f"cannot write {file}: {error}", "name another file") from error


def deliver(report: Report, given: str | None, file: Path | None, width: int) -> None:
    """Print the report, or write it to ``file`` and print what became of the gates.

    A JUnit file is what other tools read: beside it the report is printed all the same.
    """
    # A gate that is no question is told before anything is written.
    gates = [result.line() for result in report.gate_results]
    junit = file is not None and _BY_NAME.get(file.suffix.lower()) == _JUNIT
    if file is not None:
        require_folder(file, "-o")
        write_report(report, file, None if junit else given)
    if file is None or junit:
        sys.stdout.write(_ended(report.render(given or "text", width)))
        return
    print(*gates, f"written: {file}", sep="\n")


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
