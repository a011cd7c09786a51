"""Making a machine ready: a Docker engine that runs, and the sandbox image on it."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import docker
import requests
from docker.errors import DockerException, ImageNotFound

from pytest_agentgrade.errors import EngineUnavailable, HostError
from pytest_agentgrade.sandbox.engine import connect
from pytest_agentgrade.sandbox.image import Image, ensure_image
from pytest_agentgrade.sandbox.owner import process_start_time
from pytest_agentgrade.sandbox.sweep import sweep
from pytest_agentgrade.sandbox.system_packages import (
    SYSTEM_PATH,
    can_install,
    find_program,
    install_packages,
    run_program,
)  # fmt: skip

PACKAGES = ("docker.io", "iptables")
_START_SECONDS = 60.0
_RUNTIME_FOLDER = Path("/var/run")
_PID_FILES = {"docker.pid": "dockerd", "docker/containerd/containerd.pid": "containerd"}
"""Below the runtime folder: file -> the program whose process id it holds."""
_BY_HAND = "install Docker Engine 20.10 or newer (https://docs.docker.com/engine/install/) and start it"

Log = Callable[[str], None]


def run_setup(log: Log = print, *, image: str | None = None) -> Image:
    """Install and start the engine if none answers, remove what dead runs left, build the image.

    ``image`` is one that the user named: it is pulled if it is not there, which a run never does.

    Says each step through ``log``; run again, it finds everything done. Packages are installed only on an apt system
    and by root. Raises EngineUnavailable or HostError with what to do by hand.
    """
    client = _engine(log)
    try:
        log(f"Docker engine {client.version()['Version']} answers")
        for removed in sweep(client):
            log(f"removed {removed}, left by an earlier run")
        if image is not None:
            pull_missing(client, image, log)
        ready = ensure_image(client, image, log=log)
        log(f"sandbox image {ready.tag} is there (Python {ready.python})")
        return ready
    finally:
        client.close()


def pull_missing(client: docker.DockerClient, image: str, log: Log) -> None:
    """Pull an image that is not on the engine. Raises HostError with what the engine says."""
    try:
        client.images.get(image)
        return
    except ImageNotFound:
        log(f"pulling {image}")
    try:
        client.api.pull(image if has_tag(image) else f"{image}:latest")
        client.images.get(image)
    except (DockerException, requests.RequestException) as error:
        hint = "check the name, or leave the setting out to have an image made on this machine"
        raise HostError(f"cannot pull image {image!r}: {str(error).splitlines()[0]}", hint) from error


def has_tag(image: str) -> bool:
    """Whether a name says which of its images: by tag or digest. A port of the registry's is no tag."""
    return "@" in image or ":" in image.rpartition("/")[2]


def _engine(log: Log) -> docker.DockerClient:
    try:
        return connect()
    except EngineUnavailable as error:
        if os.environ.get("DOCKER_HOST") or "permission denied" in str(error).lower():
            raise  # an engine of somebody's choice: its own hint says more than we could do
        log(error.message)
    if find_program("dockerd") is None:
        install(log)
    command = start_command()
    if command is None:
        log("starting the engine with systemd")
        run_program(("systemctl", "start", "docker"), _BY_HAND)
        return wait_until_ready(connect, lambda: "")
    clear_stale_pid_files(_RUNTIME_FOLDER, log)
    return start_in_background(command, engine_log(), connect, log)


def clear_stale_pid_files(folder: Path, log: Log) -> None:
    """Remove what an engine that was killed left in ``folder``: the next one refuses to start beside it.

    A process id may be that of a zombie, or have been given to somebody else since: only a living process of that name
    keeps its file.
    """
    for name, program in _PID_FILES.items():
        file = folder / name
        try:
            pid = int(file.read_text(encoding="ascii"))
        except (FileNotFoundError, ValueError):
            continue
        if not _is_running(pid, program):
            log(f"removing {file}, left by an engine that was killed")
            file.unlink(missing_ok=True)


def _is_running(pid: int, program: str) -> bool:
    if process_start_time(pid) is None:
        return False
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip() == program
    except (FileNotFoundError, ProcessLookupError):
        return False


def install(log: Log) -> None:
    """Install the engine with apt. Raises EngineUnavailable where that is not possible."""
    if not can_install():
        how = _BY_HAND if find_program("apt-get") is None else "run `agentgrade setup` as root"
        raise EngineUnavailable("no Docker engine is installed", how)
    install_packages(PACKAGES, log, _BY_HAND)
    if find_program("dockerd") is None:
        raise EngineUnavailable("apt-get installed no dockerd", _BY_HAND)


def start_command() -> tuple[str, ...] | None:
    """How to start the engine here; None where systemd does it. Raises EngineUnavailable when we may not."""
    if os.geteuid() != 0:
        raise EngineUnavailable("the Docker engine is installed but does not run", "`sudo systemctl start docker`")
    return None if Path("/run/systemd/system").is_dir() else (find_program("dockerd") or "dockerd",)


def engine_log() -> Path:
    """Where an engine that we start writes its log."""
    folder = Path("/var/log")
    usable = folder.is_dir() and os.access(folder, os.W_OK)
    return (folder if usable else Path(tempfile.gettempdir())) / "agentgrade-dockerd.log"


def start_in_background(
    command: tuple[str, ...], log_file: Path, ready: Callable[[], docker.DockerClient], log: Log
) -> docker.DockerClient:
    """Run the engine in a session of its own until it answers; it stays when we end. Raises EngineUnavailable."""
    log(f"starting {command[0]} in the background; its log is {log_file}")
    script = 'log=$1; shift; "$@" >"$log" 2>&1 </dev/null &'
    environment = {**os.environ, "PATH": SYSTEM_PATH}
    subprocess.run(
        ["sh", "-c", script, "sh", str(log_file), *command], check=True, start_new_session=True, env=environment
    )
    return wait_until_ready(ready, lambda: _last_lines(log_file))


def wait_until_ready(
    ready: Callable[[], docker.DockerClient], explain: Callable[[], str], *, seconds: float = _START_SECONDS
) -> docker.DockerClient:
    """The client, once the engine answers. Raises EngineUnavailable with the end of its log."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return ready()
        except EngineUnavailable as error:
            if time.monotonic() > deadline:
                said = explain()
                raise EngineUnavailable(
                    f"the Docker engine does not answer after {seconds:g} s{': ' if said else ''}{said}", error.hint
                ) from error
        time.sleep(0.2)


def _last_lines(log_file: Path) -> str:
    try:
        lines = log_file.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    return "; ".join(lines[-3:])
