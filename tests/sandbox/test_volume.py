from __future__ import annotations

import io
import os
import tarfile
import time
from collections.abc import Callable, Iterator

import docker
import pytest

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.sandbox.container import MEGABYTE, Container, ContainerSpec, Tmpfs
from pytest_agentgrade.sandbox.image import Image
from pytest_agentgrade.sandbox.owner import Owner
from pytest_agentgrade.sandbox.volume import WorkspaceVolume
from tests.sandbox.conftest import read_all


@pytest.fixture
def volume(client: docker.DockerClient, image: Image) -> Iterator[WorkspaceVolume]:
    with WorkspaceVolume(client, image.tag, Owner.current(), "tests", size=8 * MEGABYTE, inodes=200) as volume:
        yield volume


@pytest.fixture
def shell(volume: WorkspaceVolume, image: Image, start: Callable[[ContainerSpec], Container]) -> Callable[[str], str]:
    """Run a command as the agent would, in a container of its own that is gone afterwards."""

    def shell(script: str) -> str:
        spec = ContainerSpec(
            image.tag, ("sh", "-c", script), "agent", volumes=(volume.mount(),), workdir="/work",
            tmpfs=(Tmpfs("/tmp", MEGABYTE),),
        )  # fmt: skip
        container = start(spec)
        output = read_all(container)
        container.wait(20)
        text = output + container.stderr
        container.remove()
        return text.decode()

    return shell


def tar_of(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.uid, member.gid = len(data), 65532, 65532
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def files_in(volume: WorkspaceVolume) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(b"".join(volume.read_tar()))) as tar:
        contents = {member.name: tar.extractfile(member) for member in tar if member.isreg()}
        return {name: content.read() for name, content in contents.items() if content is not None}


def test_written_changed_and_read_back(volume: WorkspaceVolume, shell: Callable[[str], str]) -> None:
    data = os.urandom(3_000_000)
    volume.write_tar(tar_of({"pkg/a.bin": data, ".git/config": b"x"}))
    assert shell("stat -c '%U %a' pkg/a.bin; echo new > b.txt; ls -A").split() == [
        "agent",
        "644",
        ".git",
        "b.txt",
        "pkg",
    ]
    assert files_in(volume) == {"./pkg/a.bin": data, "./b.txt": b"new\n"}


def test_filled_by_the_agent_it_can_still_be_read_and_removed(
    client: docker.DockerClient, shell: Callable[[str], str], volume: WorkspaceVolume
) -> None:
    assert "No space left" in shell("head -c 100000000 /dev/zero > big")
    assert "No space left" in shell("rm big; i=0; while :; do i=$((i+1)); : > f$i || exit; done")
    assert 150 < len(files_in(volume)) < 200
    name = volume.name
    volume.__exit__(None, None, None)
    assert client.volumes.list(filters={"name": name}) == []


def test_special_files_are_named(volume: WorkspaceVolume, shell: Callable[[str], str]) -> None:
    assert volume.special_files() == ()
    shell(
        "mkdir -p d .git && ln -s /etc/passwd d/link && mkfifo 'odd\nname' && ln -s x .git/link && "
        "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('s')\""
    )
    assert sorted(volume.special_files()) == [("l", b"d/link"), ("p", b"odd\nname"), ("s", b"s")]
    assert len(volume.special_files(limit=1)) == 1


def test_unreadable_files_are_read(volume: WorkspaceVolume, shell: Callable[[str], str]) -> None:
    shell("mkdir d && echo x > d/a && chmod 0 d/a d && chmod 0 .")
    assert volume.special_files() == ()
    assert files_in(volume) == {"./d/a": b"x\n"}


def test_half_read_workspace_is_removed_soon(volume: WorkspaceVolume, shell: Callable[[str], str]) -> None:
    shell("truncate -s 1000000000000 sparse")
    chunks = volume.read_tar()
    assert len(next(chunks)) > 0
    time.sleep(1)  # time to fill every buffer on the way
    before = time.monotonic()
    volume.__exit__(None, None, None)
    assert time.monotonic() - before < 8
    chunks.close()


def test_archive_that_does_not_fit_is_an_error(volume: WorkspaceVolume) -> None:
    with pytest.raises(HostError, match=r"Wrote only|No space left"):
        volume.write_tar(tar_of({"big": bytes(9 * MEGABYTE)}))
    with pytest.raises(HostError, match="tar"):
        volume.write_tar(b"no archive" * 100)


def test_not_open_is_said(client: docker.DockerClient, image: Image) -> None:
    volume = WorkspaceVolume(client, image.tag, Owner.current(), "tests")
    with pytest.raises(HostError, match="not open"):
        volume.write_tar(b"")


def test_failed_sidecar_leaves_no_volume(client: docker.DockerClient) -> None:
    run_id = f"failed-{os.getpid()}"
    with pytest.raises(HostError), WorkspaceVolume(client, "agentgrade-nothing", Owner.current(), run_id):
        pass
    assert client.volumes.list(filters={"label": f"agentgrade.run={run_id}"}) == []
