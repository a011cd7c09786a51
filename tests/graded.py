"""Run pytest as a user does - a process of its own, in some folder - and read what it left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from junitparser import JUnitXml, Properties, TestCase

from pytest_agentgrade.assignment.catalog import load_tasks
from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.records.model import AttemptRecord
from pytest_agentgrade.records.store import RunStore

PROJECT = Path(__file__).parents[1]
TASKS = ("build_planner", "csv_ledger", "expiring_cache", "sqlite_transfers")
QUIET_PLUGINS = ("-p", "no:randomly", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class Graded:
    """A finished pytest process."""

    code: int
    output: str
    folder: Path
    peak_kb: int
    """Peak resident memory of the pytest process, in kB."""

    @property
    def run(self) -> RunStore:
        """The only run below the folder."""
        (found,) = sorted(self.folder.glob("agentgrade-runs/*/run.json"))
        return RunStore(found.parent)

    @property
    def records(self) -> dict[str, AttemptRecord]:
        """``task[label]`` -> record."""
        return {f"{record.key.task}[{record.key.label}]": record for record in self.run.records()}

    def testcases(self, name: str = "junit.xml") -> list[TestCase]:
        return [case for suite in JUnitXml.fromfile(str(self.folder / name)) for case in suite]


def properties_of(case: TestCase) -> dict[str, str]:
    """What a testcase says of its attempt."""
    return {entry.name: entry.value for group in case.iterchildren(Properties) for entry in group}


def pytest_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", *arguments]


def start_pytest(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """Start pytest in ``folder``; stdout and stderr come as one text."""
    ours = ("PYTEST_", "COV_", "TOX_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return subprocess.Popen(
        pytest_command(*arguments), cwd=folder, env=environment | (env or {}), text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip


def run_pytest(folder: Path, *arguments: str, env: dict[str, str] | None = None, seconds: float = 300) -> Graded:
    """Run pytest in ``folder`` to its end; a hang is killed and fails the test with what was printed."""
    process = start_pytest(folder, *arguments, env=env)
    overdue = threading.Timer(seconds, os.killpg, (process.pid, signal.SIGKILL))
    overdue.start()
    try:
        with PeakMemory(process.pid) as peak:
            output, _ = process.communicate()
        assert process.returncode != -signal.SIGKILL, f"pytest was killed; after {seconds} s it is:\n{output}"
        return Graded(process.returncode, output, folder, peak.kilobytes)
    finally:
        overdue.cancel()


class PeakMemory:
    """Watches how much memory a process has at most.

    Its resource usage will not do: a process starts with the peak of the one that made it, here all the tests.
    """

    def __init__(self, pid: int) -> None:
        self.kilobytes = 0
        self._status = Path(f"/proc/{pid}/status")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._over.wait(0.05):
            with suppress(OSError):
                found = re.search(r"VmHWM:\s+(\d+) kB", self._status.read_text(encoding="ascii", errors="replace"))
                self.kilobytes = max(self.kilobytes, int(found[1]) if found else 0)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def write_settings(folder: Path, text: str) -> None:
    (folder / "agentgrade.toml").write_text(text, encoding="utf-8")


def scripted_mode(url: str, name: str = "scripted", more: str = "") -> str:
    """Settings with one mode that is served at ``url``."""
    return f'{more}\n[modes."{name}"]\nserver = "{url}"\n'


def the_task(name: str) -> Task:
    (task,) = load_tasks(Settings.model_validate({}), PROJECT, [name])
    return task


def wait_for(condition: object, seconds: float = 30.0) -> bool:
    """Poll a function until it is true."""
    assert callable(condition)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return bool(condition())
