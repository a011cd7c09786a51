"""What an agent's commands leave in the workspace: it is read, or refused: no host fault."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from pytest_agentgrade.attempt.agents import keepsakes, runner
from pytest_agentgrade.attempt.snapshot import take
from pytest_agentgrade.errors import HostError, SubmissionRefused, WorkspaceUnreadable
from pytest_agentgrade.patch_intake import _read_patch
from pytest_agentgrade.sandbox import volume as sandbox_volume
from pytest_agentgrade.sandbox.container import MEGABYTE, Container, ContainerEnd, ContainerSpec
from pytest_agentgrade.sandbox.image import Image
from pytest_agentgrade.sandbox.owner import Owner
from pytest_agentgrade.sandbox.volume import WorkspaceVolume
from pytest_agentgrade.submission.paths import IntakeLimits
from pytest_agentgrade.submission.tree import Submission


@pytest.fixture
def volume(client: docker.DockerClient, image: Image) -> Iterator[WorkspaceVolume]:
    with WorkspaceVolume(client, image.id, Owner.current(), "left-behind", size=64 * MEGABYTE, inodes=20_000) as volume:
        yield volume


def leave(client: docker.DockerClient, image: Image, volume: WorkspaceVolume, script: str) -> None:
    """Let a Python program have its way in the volume."""
    spec = ContainerSpec(
        image.id, ("python3", "-c", f"import os, sys\n{script}"), "agent", volumes=(volume.mount(),), workdir="/work",
        memory_bytes=256 * MEGABYTE,
    )  # fmt: skip
    with Container.start(client, spec, Owner.current(), "left-behind") as container:
        while container.receive(60):
            pass
        container.wait(20)
        assert container.end().exit_code == 0, container.stderr


def left(client: docker.DockerClient, image: Image, volume: WorkspaceVolume, script: str) -> Submission:
    """The submission that is left then."""
    leave(client, image, volume, script)
    return take(volume)


_NEST = "for _ in range(%d): os.mkdir('d'); os.chdir('d')\n"
_LONG_NEST = "for _ in range(%d): os.mkdir('d' * 255); os.chdir('d' * 255)\n"
"""8,000 of them make a path of two megabytes, and every name below it."""


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (_NEST % 8_000 + "open('x', 'w').close()", "longer than 240 bytes"),
        (_NEST % 8_000 + "os.mkfifo('x')", "longer than 240 bytes"),
        (_NEST % 100 + "os.mkfifo('x')", "is a fifo"),
        (_LONG_NEST % 8_000 + "for n in range(100): os.symlink('/', f'{n}')", "longer than 240 bytes"),
        ("for n in range(9_000): open(f'{n}.py', 'w').close()", "more than 5000 files"),
        ("for n in range(9_000): os.symlink('/', f'{n}')", "is a symbolic link"),
        ("os.truncate(os.open('x', os.O_CREAT | os.O_RDWR), 2**62)", "bytes"),
        (
            "for n in range(50): os.truncate(os.open(f'{n}', os.O_CREAT | os.O_RDWR), 4 << 20)",
            "more than 33554432 bytes",
        ),
        ("open(b'\\xff\\xfe', 'w').close()", "do not print"),
        ("open('\\n=== 10 passed ===', 'w').close()", r"\\x0a=== 10 passed ==="),
        ("os.mkdir('sub'); open('sub/.git', 'w').write('gitdir: /')", "'sub/.git' is named like git's own folder"),
        ("os.makedirs('.Git/hooks'); open('.Git/hooks/pre-commit', 'w').close()", "'.Git' is named like git"),
        ("open('x', 'w').close()\nfor n in range(300): os.link('x', f'l{n}')", "is a hard link"),
    ],
)  # fmt: skip
def test_it_is_refused_and_named(
    client: docker.DockerClient, image: Image, volume: WorkspaceVolume, script: str, why: str
) -> None:
    with pytest.raises(SubmissionRefused, match=why) as caught:
        left(client, image, volume, script)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 1_000


@pytest.mark.parametrize(
    ("script", "paths"),
    [
        ("os.symlink('/etc', '.git'); open('a', 'w').close()", {"a"}),
        ("os.mkfifo('.git'); open('a', 'w').close()", {"a"}),
        (
            "os.makedirs('.git/hooks')\nfor n in range(15_000): open(f'.git/hooks/{n}', 'w').close()\n"
            "os.symlink('/', '.git/x'); os.mkfifo('.git/p'); open('a', 'w').close()",
            {"a"},
        ),
        (
            "os.makedirs('a/b'); open('a/b/c', 'w').close()\nfor p in ('a/b/c', 'a/b', 'a', '.'): os.chmod(p, 0)",
            {"a/b/c"},
        ),
        (
            "for n in ('-rf', '--checkpoint=1', '--checkpoint-action=exec=sh x', '-T', '--exclude=*', '@a'):\n"
            "    open(n, 'w').close()\nfor n in ('*', '$(id)'): open(n, 'w').close()",
            {"-rf", "--checkpoint=1", "--checkpoint-action=exec=sh x", "-T", "--exclude=*", "@a", "*", "$(id)"},
        ),
        (
            "open('.gitattributes', 'w').write('* filter=x'); open('.gitmodules', 'w').write('[submodule \"x\"]')",
            {".gitattributes", ".gitmodules"},
        ),
        (
            "try:\n    with open('x.pyc', 'wb') as f:\n        while True: f.write(bytes(1 << 20))\n"
            "except OSError: pass\n"
            "os.truncate('x.pyc', 1 << 20); open('a', 'w').close()",
            {"a"},
        ),
        ("import shutil\nshutil.rmtree('.', ignore_errors=True)", set()),
        ("os.makedirs('a.py/b'); os.makedirs('empty')", set()),
    ],
)  # fmt: skip
def test_it_is_read_as_it_is(
    client: docker.DockerClient, image: Image, volume: WorkspaceVolume, script: str, paths: set[str]
) -> None:
    assert set(left(client, image, volume, script).tree) == paths


@pytest.mark.parametrize("script", [_LONG_NEST % 8_000, "os.truncate(os.open('x', os.O_CREAT | os.O_RDWR), 2**62)"])
def test_what_lies_in_home_costs_no_attempt(
    client: docker.DockerClient, image: Image, volume: WorkspaceVolume, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    """Logs and sessions are kept from there, as far as they can be read in time."""
    monkeypatch.setattr(keepsakes, "MAX_SECONDS", 5.0)
    leave(client, image, volume, f"os.mkdir('log'); open('log/a', 'w').close()\n{script}")
    began = time.monotonic()
    keepsakes.keep_files(volume.read_tar(), ("log/*",))
    assert time.monotonic() - began < 40


@pytest.mark.parametrize(("command", "why"), [("exit 3", "ended with 3"), ("sleep 60", "is stuck")])
def test_what_cannot_be_read_at_all_is_refused(
    volume: WorkspaceVolume, monkeypatch: pytest.MonkeyPatch, command: str, why: str
) -> None:
    """Were it a fault of the host, an agent that fails could see to it that its attempt does not count."""
    monkeypatch.setattr(sandbox_volume, "_MAKE_READABLE", command)
    monkeypatch.setattr(sandbox_volume, "_STEP_SECONDS", 2.0)
    with pytest.raises(SubmissionRefused, match=rf"the workspace cannot be read: .*{why}"):
        take(volume)


def test_a_sidecar_that_does_nothing_any_more_is_the_hosts_fault(
    client: docker.DockerClient, volume: WorkspaceVolume
) -> None:
    assert volume._sidecar is not None
    client.containers.get(volume._sidecar.id).kill()
    with pytest.raises(HostError) as caught:
        take(volume)
    assert not isinstance(caught.value, WorkspaceUnreadable)


class Lingering:
    """A container that has closed its output and ends only when it is killed, or not even then."""

    def __init__(self, *ends: bool) -> None:
        self.ends = list(ends)
        self.killed = False

    def wait(self, _timeout: float) -> bool:
        return self.ends.pop(0)

    def kill(self) -> None:
        self.killed = True

    def end(self) -> ContainerEnd:
        return ContainerEnd(137, False, "")


def test_an_agent_that_closes_its_output_and_stays_is_killed() -> None:
    """Commands may attach to the first process, which runs as the same user, and close its output."""
    container: Any = Lingering(False, True)
    assert runner._end(container).exit_code == 137 and container.killed
    quick: Any = Lingering(True)
    assert runner._end(quick).exit_code == 137 and not quick.killed
    stuck: Any = Lingering(False, False)
    with pytest.raises(HostError, match="did not end"):
        runner._end(stuck)


def test_of_an_endless_patch_file_no_more_is_read_than_may_be(tmp_path: Path) -> None:
    path = tmp_path / "huge.patch"
    path.touch()
    os.truncate(path, 1 << 42)
    assert len(_read_patch(path)) == IntakeLimits().patch_bytes + 1
