"""Run an agent in its container, on the task clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import docker

from pytest_agentgrade.assignment.secrets import hide_in_bytes, secret_values, secret_variables
from pytest_agentgrade.attempt.agents import forwarder_program
from pytest_agentgrade.attempt.agents.base import (
    EXCHANGE_PLACE,
    HOME_PLACE,
    PROMPT_PLACE,
    WORKSPACE_PLACE,
    Agent,
    AgentEnd,
    AgentRun,
)
from pytest_agentgrade.attempt.agents.output import TAIL_BYTES, AgentOutput
from pytest_agentgrade.errors import AgentError, HostError
from pytest_agentgrade.escaping import escape_bytes
from pytest_agentgrade.sandbox.container import (
    MEGABYTE,
    Bind,
    Container,
    ContainerEnd,
    ContainerSpec,
    OutputFlood,
    Tmpfs,
    VolumeMount,
)
from pytest_agentgrade.sandbox.owner import Owner

SOCKET_NAME = "proxy.sock"
"""Name of the proxy's socket in the exchange folder."""
_FORWARDER = "forwarder_program.py"
_PORT = "8080"
_START_SECONDS = 60.0
_END_SECONDS = 20.0
_LINGER_SECONDS = 5.0


@dataclass(frozen=True)
class AgentLimits:
    """What the container may use."""

    memory_bytes: int | None = None
    """Memory and swap together, ``/tmp`` included; None: as much as the agent needs."""
    pids: int = 256
    cpus: float = 1.0
    tmp_bytes: int = 256 * MEGABYTE
    """Size of ``/tmp``, which is HOME as well where the agent needs none of its own."""
    output_bytes: int = 64 * MEGABYTE
    """Of stdout and stderr together."""


DEFAULT_LIMITS = AgentLimits()


def run_agent(
    client: docker.DockerClient,
    image: str,
    agent: Agent,
    prompt: str,
    *,
    volume: str,
    home: str | None = None,
    exchange_dir: Path,
    seconds: float,
    owner: Owner,
    run_id: str,
    on_start: Callable[[float], None],
    limits: AgentLimits = DEFAULT_LIMITS,
    runtime: str | None = None,
) -> AgentRun:
    """Run ``agent`` on ``prompt`` in the workspace ``volume`` until it exits or ``seconds`` have passed.

    ``home`` is the volume for its HOME, where it needs one.
    ``exchange_dir`` holds the proxy's socket; prompt and programs are written there, and the folder (its mode becomes
    0755: keep it inside a private one) is what the container sees. ``on_start`` gets the monotonic time at which the
    agent's process started: give it to ``RecordingProxy.start_clock``. The container is gone when this returns or
    raises. Raises HostError when the engine fails, AgentError when the agent could not be started.
    """
    _fill(exchange_dir, agent, prompt)
    spec = _spec(image, agent, (volume, home), exchange_dir, limits, runtime)
    keys = (*secret_values(agent.command()), *secret_variables(agent.env()))
    with Container.start(client, spec, owner, run_id) as container:
        output = AgentOutput()
        _await_start(container, output, keys)
        started_at = time.time()
        on_start(output.started)
        ended = _follow(container, output, output.started + seconds)
        clock = time.monotonic() - output.started
        end = _end(container)
    if end.host_error:
        raise HostError(f"the engine could not run the agent: {end.host_error}")
    events = tuple(output.events)
    return AgentRun(
        agent=agent.name,
        version=agent.version,
        ended=ended,
        exit_code=end.exit_code if ended is AgentEnd.EXITED else None,
        oom_killed=end.oom_killed,
        started=output.started,
        started_at=started_at,
        seconds=clock,
        events=events,
        finished=agent.finished(events),
        stdout_tail=_tail(output.tail, keys),
        stderr_tail=_tail(container.stderr, keys),
    )


def _fill(folder: Path, agent: Agent, prompt: str) -> None:
    files = {
        **agent.files(),
        _FORWARDER: Path(forwarder_program.__file__).read_bytes(),
        Path(PROMPT_PLACE).name: prompt.encode(),
    }
    try:
        folder.chmod(0o755)
        for name, data in files.items():
            (folder / name).write_bytes(data)
            (folder / name).chmod(0o644)
    except OSError as error:
        raise HostError(f"cannot prepare the agent's folder {folder}: {error}") from error


def _spec(
    image: str,
    agent: Agent,
    volumes: tuple[str, str | None],
    exchange_dir: Path,
    limits: AgentLimits,
    runtime: str | None,
) -> ContainerSpec:
    workspace, home = volumes
    forwarder = ("python3", "-I", "-B", f"{EXCHANGE_PLACE}/{_FORWARDER}", f"{EXCHANGE_PLACE}/{SOCKET_NAME}", _PORT)
    return ContainerSpec(
        image=image,
        command=(*forwarder, *agent.command()),
        role="agent",
        env={"HOME": "/tmp" if home is None else HOME_PLACE, **agent.env()},
        memory_bytes=limits.memory_bytes or agent.needs.memory_bytes,
        pids=limits.pids,
        cpus=limits.cpus,
        tmpfs=(Tmpfs("/tmp", limits.tmp_bytes, inodes=32_768, mode=0o1777, executable=True),),
        binds=(Bind(str(exchange_dir.resolve()), EXCHANGE_PLACE),),
        volumes=(VolumeMount(workspace, WORKSPACE_PLACE), *(() if home is None else (VolumeMount(home, HOME_PLACE),))),
        workdir=WORKSPACE_PLACE,
        runtime=runtime,
        max_output_bytes=limits.output_bytes,
    )


def _await_start(container: Container, output: AgentOutput, keys: tuple[str, ...]) -> None:
    """Read up to the forwarder's first line; what follows in the same piece belongs to the agent."""
    head = b""
    while not head.startswith(forwarder_program.STARTS):
        try:
            data = container.receive(_START_SECONDS)
        except TimeoutError as error:
            raise HostError(f"the agent's container said nothing for {_START_SECONDS:g} s") from error
        head += data
        if not data or len(head) > len(forwarder_program.STARTS) + TAIL_BYTES:
            end = container.end()
            reason = (
                end.host_error
                or escape_bytes(hide_in_bytes(container.stderr, keys), 500)
                or f"exit code {end.exit_code}"
            )
            raise AgentError(f"the agent was not started: {reason}", "does the image have python3?")
    output.started = time.monotonic()
    output.add(head[len(forwarder_program.STARTS) :])


def _follow(container: Container, output: AgentOutput, deadline: float) -> AgentEnd:
    """Read until the container ends, or kill it at the deadline."""
    try:
        while (left := deadline - time.monotonic()) > 0:
            data = container.receive(left)
            if not data:
                # The proxy ends requests at the same moment: an agent that then goes by itself ran out of time.
                return AgentEnd.EXITED if time.monotonic() < deadline else AgentEnd.CLOCK
            output.add(data)
    except TimeoutError:
        pass  # the deadline came in silence
    except OutputFlood:
        _drain(container)
        return AgentEnd.KILLED
    container.kill()
    _drain(container)
    return AgentEnd.CLOCK


def _end(container: Container) -> ContainerEnd:
    """What the engine says at the end. One that closed its output without ending is killed: that is no host's fault."""
    if not container.wait(_LINGER_SECONDS):
        container.kill()
        if not container.wait(_END_SECONDS):
            raise HostError(f"the agent's container did not end within {_END_SECONDS:g} s", "look at the engine's log")
    return container.end()


def _drain(container: Container) -> None:
    """Read what is left of a killed container's output: the engine waits for that before it calls it ended."""
    limit = time.monotonic() + _END_SECONDS
    while time.monotonic() < limit:
        try:
            if not container.receive(limit - time.monotonic()):
                return
        except OutputFlood:
            continue
        except TimeoutError:
            return


def _tail(data: bytes, keys: tuple[str, ...]) -> str:
    """The end of an agent's output; what keys it was given and has written there are hidden."""
    return escape_bytes(hide_in_bytes(data, keys)[-8_000:], 8_000, keep_newlines=True)
