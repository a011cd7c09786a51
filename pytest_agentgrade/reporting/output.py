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
    """``given``, else what the name's ending stands for.

    SettingsError when the name stands for nothing or for another format, or when the format cannot be made.

    To be called before a long run whose report it is to be.
    """
    by_name = _BY_NAME.get(file.suffix.lower())
    chosen = by_name if given is None else given
    if by_name not in (None, "text", chosen, chosen and chosen.removesuffix("-checks")):
        hint = f"leave out --format={given}, or end the name in {_ending_of(chosen)}"
        raise SettingsError(f"{file.name} is the name of a {by_name} file, not of {given}", hint)
    if chosen is None:
        raise SettingsError(f"the name {file.name} says no format", f"end it in one of {', '.join(_BY_NAME)}")
    if chosen == "html":
        from pytest_agentgrade.reporting.html_page import require_html

        require_html()
    return chosen


def _ending_of(style: str | None) -> str:
    endings = {one: ending for ending, one in reversed(_BY_NAME.items())}
    return endings.get((style or "").removesuffix("-checks"), ".txt")


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

    A JUnit file is what other tools read: beside it the report is printed all the same. Where that is for a program,
    what was written is said on stderr.
    """
    # A gate that is no question is told before anything is written.
    gates = [result.line() for result in report.gate_results]
    junit = file is not None and _BY_NAME.get(file.suffix.lower()) == _JUNIT
    if file is not None:
        require_folder(file, "-o")
        write_report(report, file, None if junit else given)
    if file is None or junit:
        sys.stdout.write(_ended(report.render(given or "text", width)))
        if file is not None:
            print(f"written: {file}", file=sys.stdout if given in (None, "text", "markdown") else sys.stderr)
        return
    print(*gates, f"written: {file}", sep="\n")


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
