"""Hidden checks stay hidden: nothing that an agent or a candidate can read holds a word of them."""

from __future__ import annotations

import json
import re
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from pytest_agentgrade.attempt import workspace
from pytest_agentgrade.attempt.agents.runner import SOCKET_NAME, run_agent
from pytest_agentgrade.attempt.agents.toolloop import ToolLoop
from pytest_agentgrade.attempt.proxy import RecordingProxy
from pytest_agentgrade.grading.judge import Judge
from pytest_agentgrade.grading.program import program
from pytest_agentgrade.sandbox.image import Image
from pytest_agentgrade.sandbox.owner import Owner
from pytest_agentgrade.sandbox.volume import WorkspaceVolume
from tests.graded import PROJECT, TASKS, the_task
from tests.scripted_server import SCRIPTS, ScriptedServer

from .test_proxy import POLICY

RUN = "secrets"
_TOO_SHORT = 36
"""Shorter lines are said by many programs."""


def lines_of(data: bytes) -> set[bytes]:
    return {line for line in map(bytes.strip, data.splitlines()) if len(line) >= _TOO_SHORT}


def secrets() -> tuple[set[bytes], set[bytes]]:
    """(names, lines) of all checks, references and wrong solutions that the workspaces do not show themselves."""
    shown: set[bytes] = set()
    for name in TASKS:
        task = the_task(name)
        for text in [task.prompt.encode(), *(file.data for file in task.base.values())]:
            shown |= lines_of(text) | set(re.findall(rb"\btest_\w+", text))
    names: set[bytes] = set()
    lines: set[bytes] = set()
    for path in sorted((PROJECT / "hidden_checks").rglob("*")):
        if path.suffix in (".py", ".diff"):
            data = path.read_bytes()
            if path.name.startswith("test_"):
                names |= set(re.findall(rb"def (test_\w+)", data))
            lines |= lines_of(re.sub(rb"(?m)^[-+ ]", b"", data) if path.suffix == ".diff" else data)
    return names - shown, lines - shown


NAMES, LINES = secrets()


def told(data: bytes) -> set[bytes]:
    """What of the secrets some bytes hold."""
    words = set(re.findall(rb"\btest_\w+", data))
    return (words & NAMES) | (lines_of(data) & LINES) | ({b"hidden_checks"} if b"hidden_checks" in data else set())


def members(tar: Iterator[bytes]) -> Iterator[tuple[str, bytes]]:
    with tempfile.TemporaryFile() as buffer:
        for chunk in tar:
            buffer.write(chunk)
        buffer.seek(0)
        with tarfile.open(fileobj=buffer) as archive:
            for member in archive:
                if member.isreg():
                    yield member.name, archive.extractfile(member).read()  # type: ignore[union-attr]


def test_the_secrets_are_known() -> None:
    """Else the other tests would find nothing for the wrong reason."""
    assert len(NAMES) > 50 and len(LINES) > 500
    assert told((PROJECT / "hidden_checks/csv_ledger/test_csv_ledger.py").read_bytes()) > {b"hidden_checks"} - {
        b"hidden_checks"
    }
    assert told(b"  def test_balances_are_exact_at_any_size(candidate):") == {b"test_balances_are_exact_at_any_size"}


@pytest.mark.parametrize("name", TASKS)
def test_the_workspace_and_its_history_tell_nothing(name: str) -> None:
    task = the_task(name)
    built = workspace.build(task)
    for path, data in members(iter([built.tar])):
        text = zlib.decompress(data) if "/objects/" in path else data
        assert told(text) == set(), path
    assert told(task.prompt.encode()) == set()


def test_what_an_agent_can_read_tells_nothing(client: docker.DockerClient, image: Image) -> None:
    task = the_task("csv_ledger")
    api: Any = client.api
    seen: dict[str, bytes] = {}

    def look(_started: float) -> None:
        wanted = {"label": [f"agentgrade.run={RUN}", "agentgrade.role=agent"]}
        (one,) = api.containers(filters=wanted)
        seen["metadata"] = json.dumps(api.inspect_container(one["Id"])).encode()
        seen.update(members(api.export(one["Id"])))
        seen.update({path.name: path.read_bytes() for path in Path(folder).iterdir() if path.is_file()})

    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as logs,
        WorkspaceVolume(client, image.id, Owner.current(), RUN) as volume,
        ScriptedServer(SCRIPTS["idle"]) as server,
        RecordingProxy(server.url, Path(folder) / SOCKET_NAME, POLICY, Path(logs) / "log") as proxy,
    ):
        volume.write_tar(workspace.build(task).tar)
        ran = run_agent(
            client, image.id, ToolLoop(), task.prompt, volume=volume.name, exchange_dir=Path(folder), seconds=60,
            owner=Owner.current(), run_id=RUN, on_start=look,
        )  # fmt: skip
        seen["requests"] = json.dumps(server.requests).encode()
        seen["output"] = ran.stdout_tail.encode()
        assert len(proxy.exchanges) == 2
    assert len(seen) > 500
    assert {path: found for path, data in seen.items() if (found := told(data))} == {}
    assert not [path for path in seen if "agentgrade" in path or "hidden_checks" in path]


def test_what_a_candidate_can_read_tells_nothing(client: docker.DockerClient, image: Image) -> None:
    task = the_task("csv_ledger")
    api: Any = client.api
    with Judge(client, image, Owner.current(), RUN) as judge, judge.open(task, task.base, 5) as candidate:
        candidate.call("csv_ledger:Ledger")
        (one,) = api.containers(filters={"label": [f"agentgrade.run={RUN}", "agentgrade.role=judge"]})
        assert told(json.dumps(api.inspect_container(one["Id"])).encode()) == set()
    source = program("of another Python, which gets it as text").encode()
    assert told(source) == told(source.replace(b"\\n", b"\n")) == set()
