"""All hostile candidates through all of pytest, in two processes at a time: what they left to be looked at."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker

from pytest_agentgrade.grading.suite import load_checks
from pytest_agentgrade.records.model import AttemptRecord
from pytest_agentgrade.submission.render import render_patch
from tests.graded import PROJECT, QUIET_PLUGINS, Graded, run_pytest, the_task

from .everyone import PATIENTLY, QUICK, SLOW, WHOLE
from .specimen import Specimen

ALL = os.environ.get("AGENTGRADE_HOSTILE") == "all"
"""Whether all of them are judged by all ten checks: many minutes."""
_KEEPS_ALL_FRAMES = ("-p", "no:rerunfailures")
"""It holds the traceback of every failure, with all the values in it, to the end: no measure of our memory."""
SECONDS = 5_400 if ALL else 1_200


@dataclass
class Used:
    """The most that was seen of the machine while the campaign ran."""

    temporary_bytes: int = 0
    """In the temporary folder of the two processes."""
    layer_bytes: int = 0
    """Written by any of their containers into its own layer of the engine's storage."""
    containers: int = 0
    """At one time."""
    disk_bytes: int = 0
    """Less room on the file system of the engine's storage; whatever else ran counts too."""


@dataclass
class Campaign:
    """Two finished runs."""

    quick: Graded
    slow: Graded
    temporary: Path
    used: Used = field(default_factory=Used)

    def record(self, specimen: Specimen) -> AttemptRecord:
        """The attempt of a candidate."""
        run = self.slow if specimen in SLOW else self.quick
        return run.records[f"{specimen.task}[{specimen.name}-1]"]


def run_campaign(folder: Path, client: docker.DockerClient) -> Campaign:
    """Judge them all."""
    temporary = folder / "tmp"
    temporary.mkdir()
    patient = next(one for one in SLOW if one.name == PATIENTLY)
    jobs: list[Callable[[], Graded]] = [
        lambda: judge(folder / "quick", temporary, [*QUICK, patient]),
        lambda: judge(folder / "slow", temporary, SLOW, "-p", "tests.hostile.impatient"),
    ]
    with watching(client, temporary) as used, ThreadPoolExecutor(2) as workers:
        runs = [worker.result() for worker in [workers.submit(job) for job in jobs]]
    return Campaign(*runs, temporary, used)


def checks_for(specimen: Specimen) -> list[str]:
    """Names of the checks that judge a candidate: all ten, or the ones that tell."""
    if ALL or specimen in WHOLE:
        return [check.name for check in load_checks(the_task(specimen.task)) if not check.beyond]
    return list(specimen.telling())


def judge(folder: Path, temporary: Path, specimens: Sequence[Specimen], *arguments: str) -> Graded:
    """One pytest process that judges some candidates, each as a mode of its name."""
    for one in specimens:
        place = folder / "patches" / one.name / f"{one.task}.patch"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(render_patch(the_task(one.task).base, one.submission().tree), encoding="utf-8")
    ids = [
        f"hidden_checks/{one.task}/test_{one.task}.py::{check}[{one.name}-1]"
        for one in specimens
        for check in checks_for(one)
    ]
    own = temporary / folder.name  # the lock that keeps runs of one machine apart lies there
    own.mkdir()
    names = sorted({one.name for one in specimens})
    return run_pytest(
        folder, *ids, *arguments, "--agent-patches=patches", f"--agent-mode={','.join(names)}", "--agent-seed=1",
        "--junitxml=junit.xml", "-v", "--tb=short", *QUIET_PLUGINS, *_KEEPS_ALL_FRAMES,
        env={"TMPDIR": str(own), "PYTHONPATH": str(PROJECT)}, seconds=SECONDS,
    )  # fmt: skip


@contextmanager
def watching(client: docker.DockerClient, temporary: Path) -> Iterator[Used]:
    """Look at the machine twice a second."""
    used, over = Used(), threading.Event()
    api: Any = client.api
    root = Path(client.info()["DockerRootDir"])
    free = free_bytes(root)

    def watch() -> None:
        while not over.wait(0.5):
            used.temporary_bytes = max(used.temporary_bytes, size_of(temporary))
            used.disk_bytes = max(used.disk_bytes, free - free_bytes(root))
            ours = api.containers(size=True, filters={"label": "agentgrade.role=judge"})
            used.containers = max(used.containers, len(ours))
            used.layer_bytes = max([used.layer_bytes, *(one.get("SizeRw") or 0 for one in ours)])

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield used
    finally:
        over.set()
        watcher.join()
        print("campaign used", json.dumps(vars(used)))


def free_bytes(folder: Path) -> int:
    """Room on the file system of a folder."""
    seen = os.statvfs(folder)
    return seen.f_bavail * seen.f_frsize


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder, some of which may vanish meanwhile."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(Path(parent, name)).st_size
            except FileNotFoundError:
                continue
    return total
