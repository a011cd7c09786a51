"""Making an image that the user names fit for use: bytecode compiled in, our user known, and tried out."""

from __future__ import annotations

from enum import Enum
from typing import Any

import docker
import requests
from docker.errors import DockerException, ImageNotFound
from docker.types import LogConfig

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.escaping import escape_bytes
from pytest_agentgrade.sandbox.container import MEGABYTE, Container, ContainerSpec, OutputFlood, Tmpfs
from pytest_agentgrade.sandbox.owner import LABEL, Owner, labels

PYTHON_LABEL = "agentgrade.python"
_SECONDS = 300.0
AGENT_SMOKE = """
import sys
if sys.version_info < (3, 8): sys.exit('its python3 is %d.%d, 3.8 is needed' % sys.version_info[:2])
import socket, subprocess, threading, compileall, pwd
print('%d.%d.%d' % sys.version_info[:3])
"""
"""What an image for an agent is tried out with."""
_SMOKE = """
import sys, sqlite3, json, decimal, threading, unittest, ctypes, zlib, asyncio, csv, tempfile
sqlite3.connect(':memory:').execute('select 1')
print('%d.%d.%d' % sys.version_info[:3])
"""
_PREPARE = """
import compileall, os, py_compile, pwd
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
try: import concurrent.futures.process; workers = 0
except ImportError: workers = 1 # python3-minimal of Debian
compileall.compile_dir(os.path.dirname(os.__file__), quiet=2, workers=workers, invalidation_mode=mode)
try: pwd.getpwuid(65532)
except KeyError: open('/etc/passwd', 'a').write('agent:x:65532:65532:agent:/tmp:/bin/sh\\n')
for name in ('/work', '/scratch'): os.makedirs(name, exist_ok=True)
"""


class Use(Enum):
    """What an image is for, and so what it must have."""

    SANDBOX = "sandbox"
    """Judging and holding files: Python with its standard library, and a few tools of the shell."""
    AGENT = "agent"
    """Running an agent behind the forwarder: ``python3`` 3.8 or newer, and whatever that agent needs."""


def derive(client: docker.DockerClient, image_id: str, repository: str, tag: str, *, use: Use = Use.SANDBOX) -> str:
    """Commit a prepared copy of ``image_id`` as ``repository:tag``; returns the version of its Python.

    Without bytecode, every read-only container would compile the standard library anew. Raises HostError when the
    image cannot be prepared or does not work afterwards; then no copy stays.
    """
    python = try_out(client, image_id, git=False, use=use)
    api: Any = client.api
    container: str | None = None
    try:
        container = api.create_container_from_config(_config(api, image_id))["Id"]
        api.start(container)
        code = api.wait(container, timeout=_SECONDS)["StatusCode"]
        if code != 0:
            raise HostError(f"preparing the image ended with code {code}")
        # The owner's label would have containers that other people run from the copy swept away.
        changes = [f"LABEL {PYTHON_LABEL}={python} {LABEL}=", "USER 65532:65532", "ENTRYPOINT []", 'CMD ["python3"]']
        made = api.commit(container, repository=repository, tag=f"{tag}-new", changes="\n".join(changes))["Id"]
        promote(client, made, repository, tag, git=False, use=use)
    except (DockerException, requests.RequestException) as error:
        raise HostError(f"the engine cannot prepare the image: {error}") from error
    finally:
        if container is not None:
            api.remove_container(container, force=True, v=True)
    return python


def promote(
    client: docker.DockerClient, image_id: str, repository: str, tag: str, *, git: bool, use: Use = Use.SANDBOX
) -> str:
    """Give ``image_id`` its final name in place of ``<tag>-new`` if it works; returns its Python. Raises HostError."""
    api: Any = client.api
    try:
        python = try_out(client, image_id, git=git, use=use)
        api.tag(image_id, repository, tag)
    finally:
        api.remove_image(f"{repository}:{tag}-new", force=True)
    return python


def try_out(client: docker.DockerClient, image_id: str, *, git: bool, use: Use = Use.SANDBOX) -> str:
    """Run it as we always do; returns the version of its Python. Raises HostError."""
    script = 'python3 -I -B -c "$1" && tar --version >/dev/null && find / -maxdepth 0 -printf "" && chmod --version >&2'
    script += " && git --version >/dev/null && git init -q /scratch/try" if git else ""
    bare = ("python3", "-I", "-B", "-c", AGENT_SMOKE)
    spec = ContainerSpec(
        image=image_id,
        command=("sh", "-c", script, "sh", _SMOKE) if use is Use.SANDBOX else bare,
        role="image-check",
        tmpfs=(Tmpfs("/tmp", 4 * MEGABYTE), Tmpfs("/scratch", 4 * MEGABYTE)),
        max_output_bytes=MEGABYTE,
    )
    output = b""
    with Container.start(client, spec, Owner.current(), "image") as container:
        try:
            while chunk := container.receive(_SECONDS):
                output += chunk
        except (TimeoutError, OutputFlood) as error:
            raise HostError(f"trying it out failed: {error}") from error
        container.wait(_SECONDS)
        end = container.end()
        if end.exit_code != 0:
            said = end.host_error or escape_bytes(container.stderr, 300)
            raise HostError(f"trying it out ended with code {end.exit_code}: {said}")
    return output.decode("ascii", "replace").strip()


def find_prepared(client: docker.DockerClient, tag: str) -> tuple[str, str] | None:
    """(image id, version of its Python) of an image that was promoted before; None if there is none."""
    api: Any = client.api
    try:
        details = api.inspect_image(tag)
    except ImageNotFound:
        return None
    except (DockerException, requests.RequestException) as error:
        raise HostError(f"cannot look for image {tag}: {error}") from error
    python = (details["Config"].get("Labels") or {}).get(PYTHON_LABEL)
    return (details["Id"], python) if python else None


def _config(api: Any, image_id: str) -> Any:
    """A container that may change its own files, as root without any capability, and nothing else."""
    host = api.create_host_config(
        network_mode="none", cap_drop=["ALL"], security_opt=["no-new-privileges"], mem_limit=1024 * MEGABYTE,
        pids_limit=256, log_config=LogConfig(type="none"), init=True,
    )  # fmt: skip
    return api.create_container_config(
        image_id, None, entrypoint=["python3", "-I", "-B", "-c", _PREPARE], user="0:0", network_disabled=True,
        healthcheck={"test": ["NONE"]}, labels=labels(Owner.current(), "image", "image-preparation"), host_config=host,
    )  # fmt: skip
