from __future__ import annotations

from collections.abc import Iterator

import docker
import pytest

from pytest_agentgrade.attempt.snapshot import take
from pytest_agentgrade.errors import SubmissionRefused
from pytest_agentgrade.sandbox.container import MEGABYTE, Container, ContainerSpec
from pytest_agentgrade.sandbox.engine import connect
from pytest_agentgrade.sandbox.image import Image, ensure_image
from pytest_agentgrade.sandbox.owner import Owner
from pytest_agentgrade.sandbox.volume import WorkspaceVolume
from pytest_agentgrade.submission.paths import IntakeLimits
from pytest_agentgrade.submission.tree import TreeFile


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    client = connect()
    yield client
    client.close()


@pytest.fixture(scope="module")
def image(client: docker.DockerClient) -> Image:
    return ensure_image(client)


@pytest.fixture
def volume(client: docker.DockerClient, image: Image) -> Iterator[WorkspaceVolume]:
    with WorkspaceVolume(client, image.tag, Owner.current(), "tests", size=8 * MEGABYTE, inodes=500) as volume:
        yield volume


def act(client: docker.DockerClient, image: Image, volume: WorkspaceVolume, script: str) -> None:
    """What an agent's shell does in the workspace."""
    spec = ContainerSpec(image.tag, ("sh", "-c", script), "agent", volumes=(volume.mount(),), workdir="/work")
    with Container.start(client, spec, Owner.current(), "tests") as container:
        while container.receive(20):
            pass
        container.wait(20)
        assert container.end().exit_code == 0, container.stderr


def test_tree_of_the_workspace(client: docker.DockerClient, image: Image, volume: WorkspaceVolume) -> None:
    script = """
mkdir -p pkg/deep .git/hooks empty
echo 'x = 1' > pkg/deep/a.py; echo '#!/bin/sh' > run; chmod +x run; chmod 0 pkg/deep/a.py
ln -s /etc/passwd .git/hooks/link
mkdir -p pkg/__pycache__; echo x > pkg/__pycache__/a.pyc
"""
    act(client, image, volume, script)
    submission = take(volume)
    assert dict(submission.tree) == {
        "pkg/deep/a.py": TreeFile(b"x = 1\n"),
        "run": TreeFile(b"#!/bin/sh\n", executable=True),
    }
    assert submission.notes == ("left out 1 compiled or cache file(s): pkg/__pycache__/a.pyc",)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("ln -s /etc/passwd 'odd\n\x1b[1mname'", r"'odd\\x0a\\x1b\[1mname' is a symbolic link"),
        ("ln -s . .gitlink; ln -s x y", r"'(\.gitlink|y)' is a symbolic link \(and 1 more of such\)"),
        ("mkfifo p", "'p' is a fifo"),
        ("python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('s')\"", "'s' is a socket"),
        ("echo x > a; ln a b", "'[ab]' is a hard link"),
        ("truncate -s 1000000000000 sparse", "'sparse' has 1000000000000 bytes"),
        ("mkdir -p sub/.git; echo x > sub/.git/config", r"sub/\.git.* git's own folder"),
        ("echo x > \"$(printf '\\377')\"", "do not print"),
        ("d=$(seq -s x 80); mkdir -p $d/$d; touch $d/$d/a", "longer than 240 bytes"),
        ("for i in $(seq 60); do : > f$i; done", "more than 50 files"),
    ],
)
def test_refused_by_name(
    client: docker.DockerClient, image: Image, volume: WorkspaceVolume, script: str, why: str
) -> None:
    act(client, image, volume, script)
    with pytest.raises(SubmissionRefused, match=why) as caught:
        take(volume, IntakeLimits(files=50))
    assert str(caught.value).isprintable()


def test_nothing_left_at_all(client: docker.DockerClient, image: Image, volume: WorkspaceVolume) -> None:
    act(client, image, volume, "rm -rf ./* .[a-z]*")
    assert len(take(volume).tree) == 0
