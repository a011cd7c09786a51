"""The image is what agents and candidates run in: it must work, and be built once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import docker
import pytest

from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.sandbox import image as image_module
from pytest_agentgrade.sandbox import recipe
from pytest_agentgrade.sandbox.container import MEGABYTE, Container, ContainerSpec, Tmpfs
from pytest_agentgrade.sandbox.image import Image, ensure_image, image_tag
from pytest_agentgrade.sandbox.owner import Owner
from tests.sandbox.conftest import read_all

Start = Callable[[ContainerSpec], Container]


def run(start: Start, image: Image, *command: str) -> str:
    container = start(ContainerSpec(image.tag, command, "test", tmpfs=(Tmpfs("/tmp", 4 * MEGABYTE),), workdir="/tmp"))
    output = read_all(container)
    container.wait(20)
    assert container.end().exit_code == 0, container.stderr
    return output.decode()


def test_every_stdlib_module_is_there_with_bytecode(start: Start, image: Image) -> None:
    """Compiled in and used although the image is read-only and its sources' times differ."""
    program = """
import importlib, importlib.util, json, os, sys
left_out = {'antigravity', 'this', 'idlelib', 'ensurepip', 'tkinter', 'turtle', 'turtledemo', 'lib2to3', 'pydoc_data'}
missing, uncompiled = [], []
for name in sorted(sys.stdlib_module_names - left_out):
    try: spec = importlib.util.find_spec(name)
    except ValueError: continue
    if spec is None: missing.append(name)
    elif spec.origin.endswith('.py') and not os.path.exists(importlib.util.cache_from_source(spec.origin)):
        uncompiled.append(name)
import ctypes, decimal, lzma, bz2, ssl, hashlib, sqlite3, zoneinfo, multiprocessing.synchronize, unittest.mock
print(json.dumps([missing, uncompiled, sys.prefix, os.__file__]))
"""
    missing, uncompiled, prefix, home = json.loads(run(start, image, "python3", "-I", "-B", "-c", program))
    elsewhere = {"msilib", "nt", "winreg", "winsound", "_winapi", "_overlapped", "_msi", "_scproxy", "_wmi"}
    here = {name for name in missing if name not in elsewhere and _importable_here(name)}
    assert here <= {"_tkinter", "_osx_support"}
    assert uncompiled == []
    assert (prefix, home) == ("/usr/local", f"/usr/local/lib/python3.{sys.version_info.minor}/os.py")


def _importable_here(name: str) -> bool:
    return subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


def test_bytecode_is_used(start: Start, image: Image) -> None:
    said = run(start, image, "sh", "-c", "python3 -I -B -v -c 'import argparse' 2>&1")
    assert said.count("code object from '/usr/local") > 10  # from .pyc files
    assert "code object from /usr/local" not in said  # compiled just now from a source


def test_tools_work(start: Start, image: Image) -> None:
    script = """set -e
git init -q r && cd r && echo a > a && git add a && git commit -qm one && echo b > a
git status --porcelain; git diff --stat; git log --format=%an; git stash -q && git stash pop -q
git diff > p && git checkout -q a && git apply p && cat a
printf 'x\\ny\\n' | sed -n 2p | grep y | awk '{print $1}' | sort | head -1
find . -name a -not -path './.git/*' | xargs cat
tar -c a | tar -t; echo a > old; diff old a || true; patch -s old < /dev/null
python --version; whoami; bash -c 'echo bash'
timeout 1 true && date -u -d @0 +%F && stat -c %s a && realpath . && sha256sum < a | cut -c1-8
"""
    assert run(start, image, "sh", "-c", script).splitlines() == [
        " M a", " a | 2 +-", " 1 file changed, 1 insertion(+), 1 deletion(-)", "agent", "b", "y", "b", "a",
        "1c1", "< a", "---", "> b", f"Python {image.python}", "agent", "bash", "1970-01-01", "2", "/tmp/r", "02638299",
    ]  # fmt: skip


def test_built_once_by_two_processes(client: docker.DockerClient, image: Image) -> None:
    """The second process waits for the first one's image; both get the same."""
    program = """
from pytest_agentgrade.sandbox import recipe
from pytest_agentgrade.sandbox.engine import connect
from pytest_agentgrade.sandbox.image import ensure_image
recipe.RECIPE = -1
image = ensure_image(connect())
print(image.tag)
print(image.id)
"""
    both = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=300)[0].splitlines() for process in both]
    try:
        assert outputs[0][-1] == outputs[1][-1] != image.id
        built, waited = sorted((lines[:-2] for lines in outputs), key=len, reverse=True)
        assert [line.split()[0] for line in built] == ["building", "sandbox"]
        assert all(line.startswith("waiting: process ") and "makes an image" in line for line in waited)
        assert client.images.list(name=f"{outputs[0][-2]}-new") == []
        assert len(client.images.list(name=outputs[0][-2])) == 1
    finally:
        client.images.remove(outputs[0][-1], force=True)


def test_name_follows_content(monkeypatch: pytest.MonkeyPatch) -> None:
    before = image_tag()
    assert image_tag() == before
    monkeypatch.setitem(recipe.FILES, "/etc/group", "root:x:0:\n")
    assert image_tag() != before


def test_given_image_is_tried_out(client: docker.DockerClient, image: Image) -> None:
    assert ensure_image(client, image.tag, log=lambda _: None) == image


def test_given_image_gets_bytecode_and_our_user(
    client: docker.DockerClient, image: Image, start: Start, tmp_path: Path
) -> None:
    """From a bare copy of our own image, such as a registry's image would be."""
    bare = f"agentgrade-bare:{os.getpid()}"
    with Container.start(client, ContainerSpec(image.tag, ("sleep", "60"), "test"), Owner.current(), "tests") as source:
        exported = tmp_path / "exported.tar"
        exported.write_bytes(b"".join(client.api.export(source.id)))
    archive = tmp_path / "bare.tar"
    with tarfile.open(exported) as full, tarfile.open(archive, "w") as reduced:
        for member in full:
            if not member.name.endswith((".pyc", "etc/passwd")):
                reduced.addfile(member, full.extractfile(member) if member.isreg() else None)
    api: Any = client.api
    api.import_image_from_file(str(archive), repository="agentgrade-bare", tag=str(os.getpid()))
    said: list[str] = []
    prepared = ensure_image(client, bare, log=said.append)
    try:
        assert ensure_image(client, bare, log=said.append) == prepared
        assert said == [f"preparing {bare} as {prepared.tag}"]
        assert prepared.python == image.python
        assert run(start, prepared, "sh", "-c", "whoami; ls /usr/local/lib/python3*/__pycache__/ast.*.pyc").startswith(
            "agent\n/"
        )
        assert api.inspect_image(prepared.tag)["Config"]["Labels"]["agentgrade"] == ""
    finally:
        client.images.remove(prepared.tag, force=True)
        client.images.remove(bare, force=True)


@pytest.fixture
def useless(client: docker.DockerClient, tmp_path: Path) -> Iterator[str]:
    tag = f"agentgrade-useless:{os.getpid()}"
    archive = tmp_path / "empty.tar"
    subprocess.run(["tar", "-c", "-f", archive, "--files-from=/dev/null"], check=True)
    api: Any = client.api
    api.import_image_from_file(str(archive), repository=tag.split(":")[0], tag=tag.split(":")[1])
    yield tag
    client.images.remove(tag, force=True)


def test_given_image_without_python_is_the_users_fault(client: docker.DockerClient, useless: str) -> None:
    with pytest.raises(SettingsError, match=r"cannot be used: .* - give an image with python3"):
        ensure_image(client, useless, log=lambda _: None)


def test_image_that_is_not_there_is_named_with_what_to_do_and_not_pulled(client: docker.DockerClient) -> None:
    wanted = r"'localhost:1/nothing:1' is not on this engine.*`docker pull localhost"
    with pytest.raises(SettingsError, match=wanted):
        ensure_image(client, "localhost:1/nothing:1", log=lambda _: None)


def test_paths_of_a_merged_system() -> None:
    assert recipe.image_path("/lib/x86_64-linux-gnu/libc.so.6") == PurePosixPath("/usr/lib/x86_64-linux-gnu/libc.so.6")
    assert recipe.image_path("/lib64/ld.so") == PurePosixPath("/usr/lib64/ld.so")
    assert recipe.image_path("/usr/lib/../lib/git-core/x") == PurePosixPath("/usr/lib/git-core/x")
    assert recipe.image_path("/opt/x") == PurePosixPath("/opt/x")


def test_nothing_of_this_machines_owner_is_in_the_image(start: Start, image: Image) -> None:
    home = str(Path.home())
    listing = run(
        start, image, "sh", "-c", "find / -xdev -path /proc -prune -o -print; env; cat /etc/passwd /etc/gitconfig"
    )
    assert f"{home}/" not in listing
    assert "site-packages" not in listing
    assert image_module.REPOSITORY not in listing
