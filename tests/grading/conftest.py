"""One judge in the real engine for all tests here."""

from __future__ import annotations

from collections.abc import Iterator

import docker
import pytest

from pytest_agentgrade.grading.judge import Judge
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


@pytest.fixture(scope="session")
def judge(client: docker.DockerClient, image: Image) -> Iterator[Judge]:
    with Judge(client, image, Owner.current(), "grading-tests") as judge:
        yield judge
