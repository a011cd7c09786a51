"""Hooks that other plugins may implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_agentgrade.assignment.settings import Settings
    from pytest_agentgrade.attempt.agents.base import Agent
    from pytest_agentgrade.records.model import AttemptRecord, RunRecord


@pytest.hookspec(firstresult=True)
def pytest_agentgrade_make_agent(name: str, settings: Settings) -> Agent | None:
    """Called to make the agent that the setting ``agent`` names; None leaves it to other plugins.

    Example (docs/agents.md has a whole agent)::

        def pytest_agentgrade_make_agent(name, settings):
            return MyAgent() if name == "mine" else None
    """


@pytest.hookspec
def pytest_agentgrade_attempt_finished(record: AttemptRecord) -> None:
    """Called when an attempt is over - its submission stored, or ended by a fault - before it is judged.

    Example::

        def pytest_agentgrade_attempt_finished(record):
            print(record.key.label, record.submission.digest if record.fault is None else record.fault.message)
    """


@pytest.hookspec
def pytest_agentgrade_run_finished(run: RunRecord, records: list[AttemptRecord]) -> None:
    """Called once at the end of a run, on the controller, with all records.

    Example::

        def pytest_agentgrade_run_finished(run, records):
            print(run.run_id, sum(record.delivers for record in records))
    """
