"""What the campaign cannot see of hostile candidates: what leaves a container, what lives on, where they refuse."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import docker
import pytest

from pytest_agentgrade.errors import CandidateFailed
from pytest_agentgrade.grading.judge import Judge
from pytest_agentgrade.grading.verdict import Outcome

from .conftest import RUN_ID
from .everyone import HOSTILE
from .specimen import BASELINE, CODE, GUARD, Conclusion, Specimen, check_of, draw_for


def named(name: str) -> Specimen:
    return next(one for one in HOSTILE if one.name == name)


def test_nothing_a_candidate_knows_gets_out(judge: Judge) -> None:
    """A listener on all addresses of this machine hears nothing of a candidate that tries every way out."""
    specimen = named("probe_leak")
    task, tree = specimen.judged()
    check = check_of(specimen.task, specimen.telling()[0])
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        for listener in (tcp, udp):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("0.0.0.0", 47_113))
            listener.settimeout(0.2)
        tcp.listen()
        verdict = judge.run(check, task, tree, draw_for(task, check))
        assert verdict.outcome is Outcome.FAILED and verdict.reason.replace("\n", "").isprintable()
        with pytest.raises(TimeoutError):
            tcp.accept()
        with pytest.raises(TimeoutError):
            udp.recv(10)


@pytest.mark.parametrize("name", ["smuggled_bytecode", "bytecode_alone", "bytecode_in_other_clothes", "no_python"])
def test_bytes_that_no_patch_can_carry_are_judged_as_an_agent_leaves_them(judge: Judge, name: str) -> None:
    specimen = named(name)
    task, tree = specimen.judged()
    for check in {BASELINE[specimen.task], *specimen.telling()}:
        verdict = judge.run(check_of(specimen.task, check), task, tree, draw_for(task, check_of(specimen.task, check)))
        honest = specimen.concludes is Conclusion.UNCHANGED and check == BASELINE[specimen.task]
        assert verdict.outcome is (Outcome.PASSED if honest else Outcome.FAILED), verdict
        assert honest or re.search(specimen.reason, verdict.reason)


def test_no_process_of_a_fork_bomb_lives_on(client: docker.DockerClient, impatient_judge: Judge) -> None:
    task, tree = named("hang_with_children").judged()
    with suppress(CandidateFailed), impatient_judge.open(task, tree, 1) as candidate:
        transport: Any = candidate._conversation.session.transport
        candidate.call("expiring_cache:ExpiringCache")
    assert processes_of(transport.container_id), "it has children while it is there"
    impatient_judge.settle()
    assert processes_of(transport.container_id) == []
    api: Any = client.api
    assert [item["Id"] for item in api.containers(all=True) if RUN_ID in item["Labels"].values()] == []


def processes_of(container: str) -> list[str]:
    """Processes of this machine whose control group is the container's."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cgroup"):
        with suppress(OSError):
            found += [place.parent.name] if container in place.read_text() else []
    return found


@pytest.mark.parametrize("name", ["fork_bomb", "patched_builtins", "result_files", "limits_of_its_own"])
def test_candidate_refuses_to_act_outside_a_container(name: str, tmp_path: Path) -> None:
    specimen = named(name)
    (tmp_path / "candidate.py").write_bytes(specimen.files[CODE[specimen.task]])
    done = subprocess.run(
        [sys.executable, "candidate.py"], cwd=tmp_path, capture_output=True, text=True, timeout=20, check=False
    )
    assert done.returncode == 1 and "acts only inside" in done.stderr


@pytest.mark.parametrize(
    ("user", "there", "refuses"),
    [(0, {"/.dockerenv"}, True), (65532, {"/.dockerenv"}, False), (65532, set(), True),
     (65532, {"/.dockerenv", "/var/run/docker.sock"}, True)],
)  # fmt: skip
def test_the_guard_looks_at_user_and_place(
    monkeypatch: pytest.MonkeyPatch, user: int, there: set[str], refuses: bool
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: user)
    monkeypatch.setattr(os.path, "exists", lambda path: path in there)
    if not refuses:
        exec(GUARD, {})
        return
    with pytest.raises(RuntimeError, match="acts only inside"):
        exec(GUARD, {})


_NO_CODE = {"no_python", "odd_source"}
"""Nothing in them can be run."""


@pytest.mark.parametrize("specimen", HOSTILE, ids=lambda one: f"{one.task}-{one.name}")
def test_whatever_acts_is_behind_the_guard(specimen: Specimen) -> None:
    own = specimen.files.get(CODE[specimen.task])
    assert own is None or own.startswith(GUARD.encode()) or specimen.name in _NO_CODE
