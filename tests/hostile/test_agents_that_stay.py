"""Agents that do not go when they should: output closed, children left, the program around them stopped or killed."""

from __future__ import annotations

import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest

from pytest_agentgrade.attempt.agents.base import AgentBase, AgentEnd, AgentRun
from pytest_agentgrade.attempt.agents.runner import run_agent
from pytest_agentgrade.sandbox.image import Image
from pytest_agentgrade.sandbox.owner import Owner
from pytest_agentgrade.sandbox.volume import WorkspaceVolume
from tests.graded import QUIET_PLUGINS, run_pytest, scripted_mode, wait_for, write_settings
from tests.scripted_server import SCRIPTS, ScriptedServer

from .specimen import BASELINE
from .test_candidates import processes_of

RUN = "stays"
CLOCK = 4.0
TASK = "sqlite_transfers"
_CLOSE = "import os, signal, sys, time\nfor fd in (0, 1, 2): os.close(fd)\n"
_DEAF = """
import os, signal, sys, time
def deaf(seconds):
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
    time.sleep(seconds)
"""
PROGRAMS: dict[str, tuple[str, AgentEnd]] = {
    "closes_its_output_and_stays": (_CLOSE + "time.sleep(600)\n", AgentEnd.CLOCK),
    "deaf_to_signals": (_DEAF + "deaf(600)\n", AgentEnd.CLOCK),
    "leaves_children_with_its_output": (
        _DEAF + "for _ in range(8):\n    if os.fork() == 0:\n        os.setsid(); deaf(600)\n", AgentEnd.EXITED,
    ),
    "leaves_children_that_write": (
        _DEAF + "if os.fork() == 0:\n    os.setsid()\n"
        "    while True: print('{\"event\": \"x\"}', flush=True); time.sleep(.01)\n",
        AgentEnd.EXITED,
    ),
    "stops_the_program_around_it": (
        _DEAF + "os.kill(os.getppid(), signal.SIGSTOP); deaf(600)\n", AgentEnd.CLOCK,
    ),
    "stops_it_and_goes": (_DEAF + "os.kill(os.getppid(), signal.SIGSTOP)\n", AgentEnd.CLOCK),
    "kills_the_program_around_it": (_DEAF + "os.kill(os.getppid(), signal.SIGKILL); deaf(600)\n", AgentEnd.EXITED),
}  # fmt: skip


@dataclass(frozen=True)
class Program(AgentBase):
    """An agent that is a Python program."""

    text: str
    name: str = "program"
    version: str = "1"
    needs_tools: bool = False

    def command(self) -> tuple[str, ...]:
        return ("python3", "-c", self.text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_ended_in_time_and_nothing_of_it_lives_on(client: docker.DockerClient, image: Image, name: str) -> None:
    text, ended = PROGRAMS[name]
    seen: list[str] = []

    def look(_started: float) -> None:
        api: Any = client.api
        seen.extend(
            one["Id"] for one in api.containers(filters={"label": [f"agentgrade.run={RUN}", "agentgrade.role=agent"]})
        )

    with (
        tempfile.TemporaryDirectory() as folder,
        WorkspaceVolume(client, image.id, Owner.current(), RUN) as volume,
    ):
        began = time.monotonic()
        ran: AgentRun = run_agent(
            client, image.id, Program(text), "Stay.", volume=volume.name, exchange_dir=Path(folder), seconds=CLOCK,
            owner=Owner.current(), run_id=RUN, on_start=look,
        )  # fmt: skip
        assert time.monotonic() - began < 40
        assert b"".join(volume.read_tar())
    assert ran.ended is ended, ran
    assert (ran.seconds < CLOCK) is (ended is AgentEnd.EXITED)
    (container,) = seen
    assert wait_for(lambda: processes_of(container) == [])


def test_the_run_goes_on_behind_one_that_stays(tmp_path: Path) -> None:
    """All of pytest with the agent ``command``: two attempts, each cut by its clock and graded."""
    program = 'exec >&- 2>&-; (trap "" TERM HUP; sleep 600) & echo x > note.md; trap "" TERM; sleep 600'
    with ScriptedServer(SCRIPTS["idle"]) as server:
        command = f"agent = 'command'\nagent_command = ['sh', '-c', '{program}']\n"
        write_settings(tmp_path, f"task_seconds = 3\nseeds = [1, 2]\n{command}{scripted_mode(server.url, 'm')}")
        done = run_pytest(
            tmp_path, "--agent-mode=m", f"--agent-task={TASK}", "-k", BASELINE[TASK], "--agent-exit=measure",
            *QUIET_PLUGINS,
        )  # fmt: skip
    records = list(done.records.values())
    assert [record.passed for record in records] == [1, 1], done.output
    for record in records:
        assert record.fault is None and record.agent is not None and record.agent.ended == "clock"
        assert record.submission is not None and record.submission.ignored == ["note.md"]
        assert "task_clock" in {ending.ending for ending in record.submission.endings}
    client = docker.from_env()
    with suppress(Exception):
        wanted = {"label": f"agentgrade.run={done.run.run().run_id}"}
        assert client.containers.list(all=True, ignore_removed=True, filters=wanted) == []
    client.close()
