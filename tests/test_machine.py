"""What a run needs of this host is given back, whatever interrupted it."""

from __future__ import annotations

import contextlib
from typing import Any

import docker
import pytest

from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.errors import HostError
from pytest_agentgrade.grading.docker_transport import DockerTransport, judge_spec
from pytest_agentgrade.machine import Machine
from pytest_agentgrade.sandbox.container import Container, ContainerSpec
from pytest_agentgrade.sandbox.volume import WorkspaceVolume

RUN, OTHER = "machine-test", "machine-test-other"


def left(client: docker.DockerClient, run_id: str) -> list[str]:
    """Names of containers and volumes of a run."""
    wanted: Any = {"label": f"agentgrade.run={run_id}"}
    containers: list[Any] = client.containers.list(all=True, ignore_removed=True, filters=wanted)
    volumes: list[Any] = client.volumes.list(filters=wanted)
    return [thing.name for thing in containers + volumes]


def interrupted(make: Any) -> Any:
    """The engine does what it is asked, then Ctrl-C comes before anybody knows what it has made."""

    def made_and_lost(*args: Any, **options: Any) -> None:
        make(*args, **options)
        raise KeyboardInterrupt

    return made_and_lost


def test_what_ctrl_c_cut_off_from_its_maker_is_removed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with Machine.open(Settings.model_validate({}), RUN, print) as machine:
        spec = ContainerSpec(machine.image.id, ("sleep", "600"), "judge")
        api: Any = machine.client.api
        with Container.create(machine.client, spec, machine.owner, OTHER), monkeypatch.context() as patch:
            patch.setattr(api, "create_container_from_config", interrupted(api.create_container_from_config))
            patch.setattr(api, "create_volume", interrupted(api.create_volume))
            with contextlib.suppress(KeyboardInterrupt):
                Container.start(machine.client, spec, machine.owner, RUN)
            with contextlib.suppress(KeyboardInterrupt):
                WorkspaceVolume(machine.client, machine.image.id, machine.owner, RUN).__enter__()
            patch.undo()
            assert len(left(machine.client, RUN)) == 2
            with Machine.open(Settings.model_validate({}), RUN, print) as again:
                pass
            assert left(machine.client, RUN) == []
            assert len(left(machine.client, OTHER)) == 1, "other runs of this process keep what is theirs"
        assert again.owner == machine.owner


def test_a_judge_that_cannot_be_waited_for_is_removed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(_container: Container, _timeout: float) -> bool:
        raise HostError("lost the engine while waiting")

    with Machine.open(Settings.model_validate({}), RUN, print) as machine:
        transport = DockerTransport(machine.client, judge_spec(machine.image), machine.owner, RUN)
        monkeypatch.setattr(Container, "wait", lost)
        with pytest.raises(HostError, match="lost the engine"):
            transport.close()
        assert left(machine.client, RUN) == []
