"""Containers ahead, containers behind, and faults that are the host's."""

from __future__ import annotations

import secrets
import threading
from typing import Any

import docker
import pytest

from pytest_agentgrade.checks import Candidate
from pytest_agentgrade.errors import CandidateFailed, Fault, HostError, TaskAuthorError
from pytest_agentgrade.grading.docker_transport import DockerTransport, judge_spec
from pytest_agentgrade.grading.judge import Judge
from pytest_agentgrade.grading.pool import TransportPool
from pytest_agentgrade.grading.transport import TransportEnd, Who
from pytest_agentgrade.grading.verdict import Outcome
from pytest_agentgrade.sandbox.image import Image
from pytest_agentgrade.sandbox.owner import Owner

from . import toy


class Idle:
    """A transport that only counts."""

    scratch = "/scratch"
    made: list[Idle]

    def __init__(self) -> None:
        self.closed = 0
        self.made.append(self)

    def send(self, _data: bytes, _timeout: float) -> None: ...

    def receive(self, _timeout: float) -> bytes:
        return b""

    def ending(self) -> TransportEnd:
        return TransportEnd(Who.CANDIDATE, "over")

    def complaint(self) -> str:
        return ""

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def made() -> list[Idle]:
    Idle.made = []
    return Idle.made


def test_pool_starts_ahead_and_removes_everything(made: list[Idle]) -> None:
    pool = TransportPool(Idle)
    pool.prestart(3)
    pool.prestart(2)  # three wait already
    pool.settle()
    assert len(made) == 3
    pool.dispose(pool.take())
    pool.settle()
    assert [one.closed for one in made] == [1, 0, 0]
    pool.close()
    assert [one.closed for one in made] == [1, 1, 1]


def test_pool_without_any_ahead_starts_one(made: list[Idle]) -> None:
    pool = TransportPool(Idle)
    pool.dispose(pool.take())
    pool.close()
    assert [one.closed for one in made] == [1]


def test_start_that_fails_is_told_to_whoever_takes_it() -> None:
    def fail() -> Any:
        raise HostError("no space left")

    pool = TransportPool(fail)
    pool.prestart(2)
    pool.settle()
    with pytest.raises(HostError, match="no space left"):
        pool.take()
    pool.close()


@pytest.mark.usefixtures("made")
def test_removal_that_fails_is_told_in_the_end() -> None:
    class Stuck(Idle):
        def close(self) -> None:
            raise HostError("cannot remove")

    pool = TransportPool(Stuck)
    pool.dispose(pool.take())
    pool.dispose(pool.take())
    with pytest.raises(HostError, match="cannot remove"):
        pool.close()


def test_prestarted_containers_are_used_and_gone(client: docker.DockerClient, image: Image) -> None:
    api: Any = client.api
    run_id = f"grading-tests-{secrets.token_hex(4)}"

    def count() -> int:
        return sum(run_id in item["Labels"].values() for item in api.containers(all=True))

    with Judge(client, image, Owner.current(), run_id) as judge:
        judge.prestart(3)
        judge.settle()
        assert count() == 3
        for check in toy.CHECKS[:2]:
            assert judge.run(check, toy.make_task(), toy.tree(toy.RIGHT), toy.draw(check)).outcome is Outcome.PASSED
        judge.settle()
        assert count() == 1
    assert count() == 0


def test_all_judge_containers_look_alike(client: docker.DockerClient, image: Image) -> None:
    spec = judge_spec(image)
    assert (spec.memory_bytes, spec.pids, spec.binds, spec.volumes, spec.network_of) == (64 << 20, 64, (), (), None)
    assert set(spec.env) == {"HOME", "LANG"}
    started = DockerTransport(client, spec, Owner.current(), "grading-tests")
    try:
        api: Any = client.api
        seen = api.inspect_container(started.container_id)
        assert seen["Mounts"] == []
        assert seen["HostConfig"]["ReadonlyRootfs"] is True
        assert seen["HostConfig"]["NetworkMode"] == "none"
        assert seen["HostConfig"]["CapDrop"] == ["ALL"]
    finally:
        started.close()
        started.close()


def test_missing_image_is_the_hosts_fault(client: docker.DockerClient) -> None:
    nowhere = Image("agentgrade-none:1", "agentgrade-none:1", "3.12.0")
    with Judge(client, nowhere, Owner.current(), "grading-tests") as judge:
        verdict = judge.run(toy.CHECKS[0], toy.make_task(), toy.tree(toy.RIGHT), toy.draw(toy.CHECKS[0]))
    assert (verdict.outcome, verdict.fault) == (Outcome.ERROR, Fault.HOST)
    assert "is not on this engine" in verdict.reason


def test_container_that_someone_removes_is_the_hosts_fault(client: docker.DockerClient, image: Image) -> None:
    api: Any = client.api
    transport = DockerTransport(client, judge_spec(image), Owner.current(), "grading-tests")
    try:
        api.remove_container(transport.container_id, force=True)
        with pytest.raises(HostError, match=r"did not start|removed by someone else"):
            Candidate(transport, toy.make_task(), toy.tree(toy.RIGHT), 1).__enter__()
    finally:
        transport.close()


def test_exceptions_leave_open_as_they_are(judge: Judge) -> None:
    with pytest.raises(AssertionError), judge.open(toy.make_task(), toy.tree(toy.RIGHT), 1) as candidate:
        assert candidate.call("toy:parse", "7") == 8
    with (
        pytest.raises(CandidateFailed, match="it raised Bad"),
        judge.open(toy.make_task(), toy.tree(toy.RIGHT), 1) as candidate,
    ):
        candidate.call("toy:parse", "x")
    with (
        pytest.raises(TaskAuthorError, match="asked the candidate nothing"),
        judge.open(toy.make_task(), toy.tree(toy.RIGHT), 1),
    ):
        pass


def test_several_candidates_at_once(judge: Judge) -> None:
    outcomes: list[Outcome] = []

    def one(source: str) -> None:
        check = toy.CHECKS[2]
        outcomes.append(judge.run(check, toy.make_task(), toy.tree(source), toy.draw(check)).outcome)

    threads = [threading.Thread(target=one, args=(source,)) for source in (toy.RIGHT, toy.RIGHT, toy.UNTOUCHED)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcome.value for outcome in outcomes) == ["failed", "passed", "passed"]
