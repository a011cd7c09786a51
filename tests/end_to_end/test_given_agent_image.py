"""Images of the user's own for an agent: a root file system that has nothing of ours and not even a shell."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import docker
import pytest

from pytest_agentgrade.sandbox import derive, recipe
from pytest_agentgrade.sandbox.engine import connect
from pytest_agentgrade.sandbox.image import REPOSITORY
from tests.end_to_end.test_agents import CLIENT, ONE_PLACE, as_the_file_alone, graded

PYTHON = PurePosixPath("/opt/other-python")


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    client = connect()
    yield client
    client.close()


@pytest.fixture(scope="module")
def foreign(client: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Python at a place of its own and the libraries it is linked with: no shell, no tools, no users, no label."""
    archive, tag = tmp_path_factory.mktemp("foreign") / "root.tar", f"agentgrade-foreign:{os.getpid()}"
    parts = tuple(part for part in recipe.draw_up().parts if part.target.is_relative_to(recipe.PYTHON_PREFIX))
    with tarfile.open(archive, "w") as tar:
        for part in parts:
            place = PYTHON / part.target.relative_to(recipe.PYTHON_PREFIX)
            tar.add(part.source.resolve(), str(place).lstrip("/"))
        for library in recipe.shared_libraries(parts):
            tar.add(library.source.resolve(), str(library.target).lstrip("/"))
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        links = {"lib64": "usr/lib64", "lib": "usr/lib", f"{str(PYTHON)[1:]}/bin/python3": version}
        for name, to in links.items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, to
            tar.addfile(link, io.BytesIO())
    yield from imported(client, archive, tag, [f"ENV PATH={PYTHON}/bin"])


@pytest.fixture(scope="module")
def without_python(client: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    archive = tmp_path_factory.mktemp("bare") / "root.tar"
    subprocess.run(["tar", "-c", "-f", archive, "-C", "/etc", "hostname"], check=True)
    yield from imported(client, archive, f"agentgrade-bare-agent:{os.getpid()}", [])


def imported(client: docker.DockerClient, archive: Path, tag: str, changes: list[str]) -> Iterator[str]:
    api: Any = client.api
    repository, name = tag.split(":")
    api.import_image_from_file(str(archive), repository=repository, tag=name, changes=changes)
    made = api.inspect_image(tag)["Id"].removeprefix("sha256:")[:16]
    yield tag
    for image in (f"{REPOSITORY}:agent-from-{made}", tag):
        if client.images.list(name=image):
            client.images.remove(image, force=True)


def settings(image: str) -> str:
    program = CLIENT.replace("{", "{{").replace("}", "}}")
    words = ["python3", "-c", program, "{endpoint}", "{model}", "{prompt_file}", "{workspace}"]
    listed = ", ".join(f"'''{word}'''" for word in words)
    target = f'agent_env = {{ TARGET = "{ONE_PLACE}" }}'
    return f'agent = "command"\nagent_image = "{image}"\nagent_command = [{listed}]\n{target}\n'


def test_python_is_all_that_the_way_to_the_model_needs(
    tmp_path: Path, foreign: str, client: docker.DockerClient
) -> None:
    run = graded(tmp_path, as_the_file_alone, settings(foreign))
    (record,) = run.records.values()
    assert record.delivers and record.agent is not None, run.output
    api: Any = client.api
    used = api.inspect_image(record.agent.image_id)
    assert used["RootFS"]["Layers"][:1] == api.inspect_image(foreign)["RootFS"]["Layers"]
    assert record.agent.agent_packages == []


def test_an_image_without_python_is_told_with_what_it_needs(tmp_path: Path, without_python: str) -> None:
    done = graded(tmp_path, as_the_file_alone, settings(without_python))
    assert done.code == pytest.ExitCode.USAGE_ERROR and f"image '{without_python}' cannot be used" in done.output
    assert " - an agent's image needs python3 (3.8 or newer) on its PATH" in done.output
    assert not (tmp_path / "agentgrade-runs").exists(), "told before anything starts"


def test_a_python_too_old_says_so() -> None:
    old = "import sys; sys.version_info = (3, 7, 2)\n" + derive.AGENT_SMOKE
    done = subprocess.run([sys.executable, "-I", "-c", old], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "its python3 is 3.7, 3.8 is needed\n")
