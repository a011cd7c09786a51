"""What is seen between pytest's dots while a run is under way."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from pluggy import HookimplMarker

from pytest_agentgrade.plan import Plan

_hookimpl = HookimplMarker("pytest")


def narrator(config: Any) -> Callable[[str], None]:
    """Shows lines: each from the beginning of a line, and at once, also in a pipe or within a check. Not with ``-q``.

    ``config`` is pytest's; in a worker of xdist, which has no terminal, nothing is shown.
    """
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    capture = config.pluginmanager.get_plugin("capturemanager")

    def narrate(line: str) -> None:
        if reporter is None or config.option.verbose < 0:
            return
        with nullcontext() if capture is None else capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            if config.get_terminal_writer().width_of_current_line:
                reporter.write_line("")
            reporter.write_line(line)
            reporter.flush()

    return narrate


class NewsOfWorkers:
    """A plugin of xdist's controller: workers have no terminal, so it says which attempt has come to be judged."""

    def __init__(self, plan: Plan, narrate: Callable[[str], None]) -> None:
        self._places = {f"{key.task}/test_{key.task}.py[{key.label}]": n for n, key in enumerate(plan.keys, 1)}
        self._keys = plan.keys
        self._narrate = narrate
        self._told: set[int] = set()

    @_hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Before its first dot."""
        module, _, check = report.nodeid.removeprefix("hidden_checks/").partition("::")
        place = self._places.get(f"{module}[{check.partition('[')[2]}")
        if place is not None and place not in self._told:
            self._told.add(place)
            self._narrate(f"attempt {place} of {len(self._keys)}, {self._keys[place - 1]}: being judged")
