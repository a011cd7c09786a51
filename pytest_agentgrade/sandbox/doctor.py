"""Does this machine have what the sandbox needs?"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import requests
from docker.errors import DockerException

from pytest_agentgrade.errors import AgentGradeError, EngineUnavailable
from pytest_agentgrade.sandbox.container import MEGABYTE, Container, ContainerSpec
from pytest_agentgrade.sandbox.engine import MINIMUM_API, check_runtime, connect
from pytest_agentgrade.sandbox.image import image_tag
from pytest_agentgrade.sandbox.owner import Owner

MINIMUM_PYTHON = (3, 11)
MINIMUM_GIT = (2, 28)
"""The first with ``git init --initial-branch``."""
MINIMUM_DISK = 2 << 30
MINIMUM_MEMORY = 1 << 30
_SETUP = "run `agentgrade setup`"
_TRIAL_SECONDS = 30.0


@dataclass(frozen=True)
class Requirement:
    """One thing that must be so."""

    name: str
    ok: bool
    state: str
    """What was found."""
    remedy: str
    """What to do; empty when ``ok``."""


def checks(image: str | None = None, runtime: str | None = None) -> list[Requirement]:
    """Look at this machine, in about a second; changes nothing. ``image`` and ``runtime`` are the user's, if any."""
    found = [_python(), _system(), _git(), _memory()]
    try:
        client = connect()
    except EngineUnavailable as error:
        return [*found, Requirement("Docker engine", False, error.message, error.hint), _disk(None)]
    try:
        return [*found, *_engine_checks(client, image), *_runtime(client, runtime)]
    except (DockerException, requests.RequestException) as error:
        return [*found, Requirement("Docker engine", False, f"fails: {error}", "look at the engine's log")]
    finally:
        client.close()


def _engine_checks(client: docker.DockerClient, image: str | None) -> list[Requirement]:
    api: Any = client.api
    version, info = api.version(), api.info()
    state = (
        f"{version['Version']}, API {version['ApiVersion']} (needed: {MINIMUM_API}), cgroup v{info['CgroupVersion']}"
    )
    return [Requirement("Docker engine", True, state, ""), *_sandbox(client, image, info), _disk(info["DockerRootDir"])]


def _runtime(client: docker.DockerClient, runtime: str | None) -> list[Requirement]:
    if runtime is None:
        return []
    try:
        check_runtime(client, runtime)
    except AgentGradeError as error:
        return [Requirement("runtime", False, error.message, error.hint)]
    return [Requirement("runtime", True, runtime, "")]


def _sandbox(client: docker.DockerClient, image: str | None, info: dict[str, Any]) -> list[Requirement]:
    try:
        tag = image or image_tag()
        present = bool(client.images.list(name=tag))
    except AgentGradeError as error:
        return [Requirement("sandbox image", False, error.message, error.hint)]
    remedy = _SETUP if image is None else f"{_SETUP} or `docker pull {image}`"
    found = Requirement("sandbox image", present, tag if present else f"{tag} is not there", "" if present else remedy)
    return [found, _limits_in_practice(client, tag) if present else _limits_as_told(info)]


def _limits_as_told(info: dict[str, Any]) -> Requirement:
    missing = [name for name in ("MemoryLimit", "SwapLimit", "PidsLimit", "CpuCfsQuota") if not info.get(name)]
    state = f"the engine cannot set {', '.join(missing)}" if missing else "the engine says it can set them"
    return Requirement("container limits", not missing, state, _limits_remedy() if missing else "")


def _limits_in_practice(client: docker.DockerClient, tag: str) -> Requirement:
    """Whether a container that takes too much memory is killed, which some engines promise and do not do."""
    command = ("python3", "-I", "-c", "x = bytearray(200 << 20)")
    spec = ContainerSpec(tag, command, "doctor", memory_bytes=32 * MEGABYTE)
    try:
        with Container.start(client, spec, Owner.current(), "doctor") as container:
            ended = container.wait(_TRIAL_SECONDS)
            killed = ended and container.end().oom_killed
    except AgentGradeError as error:
        return Requirement("container limits", False, error.message, error.hint or "look at the engine's log")
    state = "memory limit is kept" if killed else "a container took 200 MB against a limit of 32 MB"
    return Requirement("container limits", killed, state, "" if killed else _limits_remedy())


def _limits_remedy() -> str:
    return "use an engine with cgroup limits for memory, swap, pids and cpu (rootless engines need systemd delegation)"


def _python() -> Requirement:
    ok = sys.version_info[:2] >= MINIMUM_PYTHON
    needed = ".".join(map(str, MINIMUM_PYTHON))
    return Requirement("Python", ok, platform.python_version(), "" if ok else f"use Python {needed} or newer")


def _system() -> Requirement:
    ok = sys.platform == "linux"
    state = f"{platform.system()} {platform.release()} ({platform.machine()})"
    return Requirement(
        "operating system", ok, state, "" if ok else "use Linux, for example in WSL 2 or a virtual machine"
    )


def _git() -> Requirement:
    needed = ".".join(map(str, MINIMUM_GIT))
    if shutil.which("git") is None:
        return Requirement("git", False, "not found", f"install git {needed} or newer")
    text = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    found = re.search(r"(\d+)\.(\d+)", text)
    ok = found is not None and (int(found[1]), int(found[2])) >= MINIMUM_GIT
    return Requirement("git", ok, text, "" if ok else f"install git {needed} or newer")


def _memory() -> Requirement:
    match = re.search(r"MemAvailable:\s+(\d+) kB", _read("/proc/meminfo"))
    free = int(match[1]) * 1024 if match else 0
    ok = free >= MINIMUM_MEMORY
    return Requirement(
        "memory", ok, f"{_gigabytes(free)} available", "" if ok else "free 1 GB, besides the model's own"
    )


def _disk(docker_root: str | None) -> Requirement:
    folder = Path(docker_root or "/")
    # A remote engine's folder is not here: then the disk for temporary files is what we can see.
    place = folder if folder.is_dir() else Path(tempfile.gettempdir())
    free = shutil.disk_usage(place).free
    ok = free >= MINIMUM_DISK
    return Requirement("disk space", ok, f"{_gigabytes(free)} free at {place}", "" if ok else f"free 2 GB at {place}")


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


def _gigabytes(size: int) -> str:
    return f"{size / (1 << 30):.1f} GB"
