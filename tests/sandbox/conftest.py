"""The real engine and the real image, once for all tests here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import docker
import pytest

from pytest_agentgrade.sandbox.container import Container, ContainerSpec
from pytest_agentgrade.sandbox.engine import connect
from pytest_agentgrade.sandbox.image import Image, ensure_image
from pytest_agentgrade.sandbox.owner import Owner


@pytest.fixture(scope="session")
def client() -> Iterator[docker.DockerClient]:
    client = connect()
    yield client
    client.close()


@pytest.fixture(scope="session")
def image(client: docker.DockerClient) -> Image:
    return ensure_image(client)


@pytest.fixture
def start(client: docker.DockerClient) -> Iterator[Callable[[ContainerSpec], Container]]:
    """Start containers that are gone after the test."""
    started: list[Container] = []

    def start(spec: ContainerSpec) -> Container:
        started.append(Container.start(client, spec, Owner.current(), "tests"))
        return started[-1]

    yield start
    for container in started:
        container.remove()


def read_all(container: Container, timeout: float = 20) -> bytes:
    """stdout to its end."""
    return b"".join(iter(lambda: container.receive(timeout), b""))
