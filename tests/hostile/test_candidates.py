"""Every hostile candidate, in real containers: what it does, what the grader concludes."""

from __future__ import annotations

import re
import resource
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import docker
import pytest

from pytest_agentgrade.errors import CandidateFailed
from pytest_agentgrade.grading.judge import Judge
from pytest_agentgrade.grading.verdict import Outcome, Verdict

from .calling import CALLING
from .conftest import RUN_ID
from .exhausting import EXHAUSTING
from .hooking import HOOKING
from .lying import LYING
from .specimen import BASELINE, CODE, GUARD, Conclusion, Specimen, check_of, draw_for
from .tampering import PROTOCOL, TAMPERING

QUICK = [*HOOKING, *LYING, *TAMPERING, *CALLING]
HOST_MEMORY_KB = 200_000
"""How much more the grader may hold after a flood than before."""


def by_name(specimens: list[Specimen]) -> Any:
    return pytest.mark.parametrize("specimen", specimens, ids=lambda one: f"{one.task}-{one.name}")


def judged(judge: Judge, specimen: Specimen, *checks: str) -> list[Verdict]:
    task, tree = specimen.judged()
    found = []
    for name in checks or specimen.telling():
        check = check_of(specimen.task, name)
        found.append(judge.run(check, task, tree, draw_for(task, check)))
    return found


def assert_lost(specimen: Specimen, verdicts: list[Verdict]) -> None:
    for verdict in verdicts:
        assert verdict.outcome is Outcome.FAILED, verdict
        assert verdict.reason.replace("\n", "").isprintable(), verdict.reason
        assert re.search(specimen.reason, verdict.reason), verdict.reason


@by_name(QUICK)
def test_no_candidate_gets_more_than_the_untouched_workspace(
    judge: Judge, impatient_judge: Judge, specimen: Specimen
) -> None:
    chosen = impatient_judge if specimen.concludes is Conclusion.LIMIT else judge
    verdicts = judged(chosen, specimen)
    if specimen.concludes is Conclusion.UNCHANGED:
        assert verdicts.pop(0).outcome is Outcome.PASSED, "honest extras must not disqualify"
    assert_lost(specimen, verdicts)


@by_name(PROTOCOL)
def test_no_message_out_of_order_is_taken(impatient_judge: Judge, specimen: Specimen) -> None:
    assert_lost(specimen, judged(impatient_judge, specimen, "test_expired_entries_are_not_seen"))


@by_name(EXHAUSTING)
def test_whatever_does_not_end_is_ended(impatient_judge: Judge, specimen: Specimen) -> None:
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    assert_lost(specimen, judged(impatient_judge, specimen))
    assert time.monotonic() - started < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < HOST_MEMORY_KB


@pytest.mark.parametrize("task", CODE)
def test_untouched_workspace_passes_its_one_check(judge: Judge, task: str) -> None:
    untouched = Specimen("untouched", task, {}, Conclusion.UNCHANGED)
    outcomes = [verdict.outcome for verdict in judged(judge, untouched)]
    assert outcomes == [Outcome.PASSED, Outcome.FAILED]


def test_nothing_a_candidate_knows_gets_out(judge: Judge) -> None:
    """A listener on all addresses of this machine hears nothing of a candidate that tries every way out."""
    specimen = next(one for one in TAMPERING if one.name == "probe_leak")
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        for listener in (tcp, udp):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("0.0.0.0", 47_113))
            listener.settimeout(0.2)
        tcp.listen()
        assert_lost(specimen, judged(judge, specimen, specimen.telling()[0]))
        with pytest.raises(TimeoutError):
            tcp.accept()
        with pytest.raises(TimeoutError):
            udp.recv(10)


def test_nothing_is_left_behind(client: docker.DockerClient, judge: Judge, impatient_judge: Judge) -> None:
    """After all of the above: no container, and no process that any of them started."""
    for one in (judge, impatient_judge):
        one.settle()
    api: Any = client.api
    left = [item["Id"] for item in api.containers(all=True) if RUN_ID in item["Labels"].values()]
    assert left == []


def test_no_process_of_a_fork_bomb_lives_on(impatient_judge: Judge) -> None:
    specimen = next(one for one in EXHAUSTING if one.name == "hang_with_children")
    task, tree = specimen.judged()
    with suppress(CandidateFailed), impatient_judge.open(task, tree, 1) as candidate:
        transport: Any = candidate._conversation.session.transport
        candidate.call("expiring_cache:ExpiringCache")
    assert processes_of(transport.container_id), "it has children while it is there"
    impatient_judge.settle()
    assert processes_of(transport.container_id) == []


def processes_of(container: str) -> list[str]:
    """Processes of this machine whose control group is the container's."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cgroup"):
        with suppress(OSError):
            found += [place.parent.name] if container in place.read_text() else []
    return found


@pytest.mark.parametrize("specimen", [EXHAUSTING[8], TAMPERING[0], HOOKING[-1]], ids=lambda one: one.name)
def test_candidate_refuses_to_act_outside_a_container(specimen: Specimen, tmp_path: Path) -> None:
    (tmp_path / "candidate.py").write_bytes(specimen.files[CODE[specimen.task]])
    done = subprocess.run(
        [sys.executable, "candidate.py"], cwd=tmp_path, capture_output=True, text=True, timeout=20, check=False
    )
    assert done.returncode == 1 and "acts only inside" in done.stderr


def test_every_candidate_with_code_is_guarded_and_every_task_is_attacked() -> None:
    everyone = [*QUICK, *PROTOCOL, *EXHAUSTING]
    assert len({one.name for one in everyone}) == len(everyone) > 100
    assert {one.task for one in everyone} == set(BASELINE)
    guard = GUARD.encode()
    for one in everyone:
        for path, data in one.files.items():
            if path.endswith(".py") and len(data) > 400 and b"sys.modules" in data:
                assert data.startswith(guard), (one.name, path)
