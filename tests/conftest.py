"""How the tests share one machine when several workers of pytest-xdist run them side by side."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

LONG_FIRST = ("end_to_end", "hostile", "tasks", "demo", "grading", "sandbox")
"""Folders whose tests wait for containers and clocks: what starts last should be short."""


def pytest_configure() -> None:
    """A folder of temporary files for each worker, and with it locks of its own.

    Runs on one host take turns, so that none disturbs another's clock. Here only the order of events counts, not speed.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        folder = Path(tempfile.gettempdir(), f"agentgrade-tests-{os.getuid()}-{worker}")
        folder.mkdir(mode=0o700, exist_ok=True)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first; the order of the rest stays as it is, hidden checks that are no tests of ours among them."""
    places = {Path(__file__).with_name(name): place for place, name in enumerate(LONG_FIRST)}
    items.sort(key=lambda item: min((places[one] for one in item.path.parents if one in places), default=len(places)))
