"""A driver in a hardened container of its own."""

from __future__ import annotations

import docker

from pytest_agentgrade.escaping import escape_bytes
from pytest_agentgrade.grading.program import command
from pytest_agentgrade.grading.transport import TransportEnd, Who
from pytest_agentgrade.sandbox.container import MEGABYTE, Container, ContainerSpec, OutputFlood, Tmpfs
from pytest_agentgrade.sandbox.image import Image
from pytest_agentgrade.sandbox.owner import Owner

WORK = "/work"
SCRATCH = "/scratch"
OUTPUT_BYTES = 16 * MEGABYTE
"""All answers and upcalls of one check; read into Python objects they take about seven times that of the host."""
_END_SECONDS = 5.0
_LEAVE_SECONDS = 0.25


def judge_spec(image: Image, runtime: str | None = None) -> ContainerSpec:
    """The one shape of all judge containers; nothing in it tells which check or candidate it will be used for.

    64 MB of memory (what lies in the tmpfs counts), 64 processes, one CPU, no network, no mount of the host's.
    """
    return ContainerSpec(
        image=image.id,
        command=tuple(command(WORK, SCRATCH, version=image.python)),
        role="judge",
        env={"HOME": SCRATCH, "LANG": "C.UTF-8"},
        tmpfs=(Tmpfs(WORK, 32 * MEGABYTE), Tmpfs(SCRATCH, 16 * MEGABYTE), Tmpfs("/tmp", 16 * MEGABYTE)),
        workdir=SCRATCH,
        stdin=True,
        runtime=runtime,
        max_output_bytes=OUTPUT_BYTES,
    )


class DockerTransport:
    """One started judge container."""

    scratch = SCRATCH

    def __init__(self, client: docker.DockerClient, spec: ContainerSpec, owner: Owner, run_id: str) -> None:
        self._container = Container.start(client, spec, owner, run_id)
        self._flood = ""

    @property
    def container_id(self) -> str:
        """The engine's id of the container."""
        return self._container.id

    def send(self, data: bytes, timeout: float) -> None:
        """Write all of ``data`` to the driver."""
        try:
            self._container.send(data, max(timeout, 0.001))
        except TimeoutError:
            raise
        except OSError as error:
            raise BrokenPipeError(str(error)) from error

    def receive(self, timeout: float) -> bytes:
        """Some bytes of the driver's, ``b""`` at the end."""
        try:
            return self._container.receive(timeout)
        except OutputFlood as error:
            self._flood = str(error)
            return b""

    def ending(self) -> TransportEnd:
        """What the engine says about the container; never what came out of it."""
        if self._flood:
            return TransportEnd(Who.CANDIDATE, f"it wrote {self._flood}")
        ended = self._container.wait(_END_SECONDS)
        end = self._container.end()
        if end.host_error:
            return TransportEnd(Who.HOST, end.host_error)
        if end.oom_killed:
            return TransportEnd(Who.CANDIDATE, "it used more memory than there is (64 MB)")
        if not ended:
            return TransportEnd(Who.CANDIDATE, "it closed its output")
        return TransportEnd(Who.CANDIDATE, f"its process ended with exit code {end.exit_code}")

    def complaint(self) -> str:
        """The end of its stderr."""
        return escape_bytes(self._container.stderr[-300:])

    def close(self) -> None:
        """Hang up, which ends an idle driver, and remove the container, killed if it stays."""
        # Killing costs the engine a process of its own; a driver that reads the end of its input costs nothing.
        try:
            self._container.hang_up()
            self._container.wait(_LEAVE_SECONDS)
        finally:
            self._container.remove()
