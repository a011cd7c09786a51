"""What failed in a pytest run beside the scores."""

from __future__ import annotations

from typing import Any


class OtherFailures:
    """A plugin that notes whether anything but a hidden check's verdict failed: that always decides the exit code."""

    def __init__(self) -> None:
        self.any = False

    def pytest_runtest_logreport(self, report: Any) -> None:
        """An error of a check is reported as one of its setup; whatever else fails is an ordinary test."""
        is_score = report.when == "call" and report.nodeid.startswith("hidden_checks/")
        self.any |= report.failed and not is_score

    def pytest_collectreport(self, report: Any) -> None:
        """With --continue-on-collection-errors the run goes on, and is no success."""
        self.any |= report.failed
