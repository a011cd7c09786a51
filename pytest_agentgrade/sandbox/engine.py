"""The connection to the Docker engine."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import docker
from docker.errors import DockerException
from docker.utils import version_lt

from pytest_agentgrade.errors import EngineUnavailable, SettingsError

MINIMUM_API = "1.41"
"""Docker Engine 20.10."""
_CALL_SECONDS = 60
_POOL = 32
_DEFAULT_SOCKET = Path("/var/run/docker.sock")


def connect() -> docker.DockerClient:
    """A client of the engine that ``DOCKER_HOST`` or the current Docker context names, else of the local one.

    The caller closes it. Raises EngineUnavailable, whose hint says what to do on this machine.
    """
    environment = _environment()
    try:
        _probe(environment.get("DOCKER_HOST") or f"unix://{_DEFAULT_SOCKET}")
        client = docker.from_env(timeout=_CALL_SECONDS, max_pool_size=_POOL, environment=environment)
    except (DockerException, OSError) as error:
        raise EngineUnavailable(f"no Docker engine answers: {_first_line(error)}", remedy(error)) from error
    # Every call would look through the environment for proxies. Calls are made in threads while pytest's own thread
    # sets and removes PYTEST_CURRENT_TEST: now and then one fails with a KeyError of that name.
    client.api.trust_env = False
    version = str(client.api.api_version)
    if version_lt(version, MINIMUM_API):
        client.close()
        raise EngineUnavailable(
            f"the Docker engine speaks API {version}, {MINIMUM_API} is needed", "install Docker Engine 20.10 or newer"
        )
    return client


def remedy(error: BaseException) -> str:
    """What the user can do about an engine that does not answer."""
    text = str(error).lower()
    if "permission denied" in text:
        return "add yourself to the group `docker` (`sudo usermod -aG docker $USER`, then log in again)"
    if os.environ.get("DOCKER_HOST"):
        return f"DOCKER_HOST is {os.environ['DOCKER_HOST']!r}: start that engine or unset the variable"
    if _DEFAULT_SOCKET.exists():
        return "start the engine (`sudo systemctl start docker`, or `agentgrade setup` as root)"
    return "install Docker Engine 20.10 or newer (`agentgrade setup` as root does it on Debian and Ubuntu)"


def _environment() -> dict[str, Any]:
    """The process environment, with the current Docker context's address where nothing else names one."""
    environment: dict[str, Any] = dict(os.environ)
    if environment.get("DOCKER_HOST") or _DEFAULT_SOCKET.exists():
        return environment
    context = docker.ContextAPI.get_current_context()
    if context is not None and context.Host:
        environment["DOCKER_HOST"] = context.Host
    return environment


def _probe(address: str) -> None:
    """Raise OSError if nothing listens on a local socket; the SDK would leave its own socket open then."""
    if address.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_CALL_SECONDS)
            probe.connect(address.removeprefix("unix://"))


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def check_runtime(client: docker.DockerClient, runtime: str) -> None:
    """SettingsError, with those there are, when the engine knows no OCI runtime of that name."""
    known = sorted(client.info().get("Runtimes") or {})
    # Newer engines take containerd's own names, and paths, without having been told of them.
    if runtime not in known and not runtime.startswith(("io.containerd.", "/")):
        raise SettingsError(f"the Docker engine knows no runtime {runtime!r}", f"it knows {', '.join(known)}")
