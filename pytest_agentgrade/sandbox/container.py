"""A container with everything taken away that code of unknown intent could use."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.sandbox.owner import Owner, labels
from pytest_agentgrade.sandbox.spec import MEGABYTE, USER, Bind, ContainerSpec, Tmpfs, VolumeMount, container_config
from pytest_agentgrade.sandbox.stream import STDOUT, FramedStream

__all__ = [
    "MEGABYTE", "USER", "Bind", "Container", "ContainerEnd", "ContainerSpec", "OutputFlood", "Tmpfs", "VolumeMount",
]  # fmt: skip

_STDERR_KEPT = 65_536
_SEND_SECONDS = 20.0
_TRIES, _AGAIN_SECONDS = 2, 1.0
_GONE = (404, 409)
"""HTTP status of an engine that finds no such container, or none that runs: what was asked for is already so."""


class OutputFlood(Exception):
    """The container wrote more than it may; it has been killed."""


@dataclass(frozen=True)
class ContainerEnd:
    """What the engine says about a container, in its own words: never what the container said itself."""

    exit_code: int | None
    """None while it runs, and when it never ran."""
    oom_killed: bool
    """Some process in it was killed for memory, whatever the exit code says."""
    host_error: str
    """Why the engine could not run it; empty when the fault is not the engine's."""


class Container:
    """A created container of ours. Use as a context manager, or call :meth:`remove`."""

    def __init__(self, client: docker.DockerClient, spec: ContainerSpec, container_id: str) -> None:
        self.spec = spec
        self.id = container_id
        self._api: Any = client.api
        self._stream: FramedStream | None = None
        self._stderr = bytearray()
        self._output_bytes = 0
        self._removed = False

    @classmethod
    def create(cls, client: docker.DockerClient, spec: ContainerSpec, owner: Owner, run_id: str) -> Container:
        """Create without starting. Raises HostError when the engine refuses."""
        api: Any = client.api
        try:
            config = container_config(api, spec, labels(owner, run_id, spec.role))
            made = api.create_container_from_config(config)
        except ImageNotFound as error:
            raise HostError(f"image {spec.image!r} is not on this engine", "run `agentgrade setup`") from error
        except (DockerException, requests.RequestException) as error:
            raise HostError(f"the engine cannot create a {spec.role} container: {_reason(error)}") from error
        return cls(client, spec, made["Id"])

    @classmethod
    def start(cls, client: docker.DockerClient, spec: ContainerSpec, owner: Owner, run_id: str) -> Container:
        """Create and run; nothing is left behind when that fails. Raises HostError."""
        container = cls.create(client, spec, owner, run_id)
        try:
            container.run()
        except BaseException:
            container.remove()
            raise
        return container

    def run(self) -> None:
        """Attach, then start, so that not one byte of output is missed. Raises HostError."""
        params = {"stdin": int(self.spec.stdin), "stdout": 1, "stderr": 1, "stream": 1}
        try:
            self._stream = FramedStream(self._api.attach_socket(self.id, params))
            self._api.start(self.id)
        except (DockerException, requests.RequestException) as error:
            raise HostError(f"the engine cannot start a {self.spec.role} container: {_reason(error)}") from error

    def send(self, data: bytes, timeout: float = _SEND_SECONDS) -> None:
        """Write to its stdin. Raises OSError (TimeoutError, BrokenPipeError among them) if it does not take it."""
        self._attached().send(data, timeout)

    def close_stdin(self) -> None:
        """Send end of file."""
        self._attached().close_input()

    def hang_up(self) -> None:
        """End its stdin and lose what it still writes; another thread's :meth:`receive` returns."""
        if self._stream is not None:
            self._stream.hang_up()

    def receive(self, timeout: float) -> bytes:
        """Some bytes of stdout, at least one; ``b""`` at its end.

        Raises TimeoutError after ``timeout`` seconds without stdout, and OutputFlood (the container is dead then)
        when it has written more than ``max_output_bytes``. stderr read on the way is kept for :attr:`stderr`.
        """
        deadline = time.monotonic() + timeout
        while True:
            piece = self._attached().receive(deadline - time.monotonic())
            if piece is None:
                return b""
            self._count(len(piece.data))
            if piece.stream == STDOUT:
                return piece.data
            self._stderr += piece.data
            del self._stderr[:-_STDERR_KEPT]
            if time.monotonic() > deadline:  # a stream of stderr alone must not keep the caller for ever
                raise TimeoutError(f"no output for {timeout:g} s")

    @property
    def stderr(self) -> bytes:
        """The last 64 kB of stderr seen by :meth:`receive`; not escaped."""
        return bytes(self._stderr)

    def wait(self, timeout: float) -> bool:
        """Whether it has ended within ``timeout`` seconds. Raises HostError when the engine fails."""
        try:
            self._api.wait(self.id, timeout=max(timeout, 0.001))
        except NotFound:
            return True
        except requests.RequestException as error:
            # The SDK has no time-out of its own: requests reports ours as ReadTimeout or wrapped as ConnectionError.
            if "timed out" in str(error).lower():
                return False
            raise HostError(f"lost the engine while waiting: {_reason(error)}") from error
        except DockerException as error:
            raise HostError(f"cannot wait for a container: {_reason(error)}") from error
        return True

    def end(self) -> ContainerEnd:
        """What the engine knows now. Raises HostError when it does not answer."""
        try:
            state = self._api.inspect_container(self.id)["State"]
        except NotFound:
            return ContainerEnd(None, False, "the container was removed by someone else")
        except (DockerException, requests.RequestException) as error:
            raise HostError(f"cannot inspect a container: {_reason(error)}") from error
        ran = state["Status"] in ("exited", "dead")
        error_text = str(state.get("Error") or "")
        return ContainerEnd(int(state["ExitCode"]) if ran else None, bool(state["OOMKilled"]), error_text)

    def kill(self) -> None:
        """SIGKILL to all of its processes; nothing happens if it does not run. Output not yet received is lost.

        Raises HostError when the engine refuses.
        """
        # The engine reports a container's death only after its output has gone somewhere: a flood would block it.
        self.hang_up()
        self._insist("kill", lambda: self._api.kill(self.id))

    def remove(self) -> None:
        """Kill and delete it, with its anonymous volumes; calling twice is harmless."""
        if self._removed:
            return
        if self._stream is not None:
            self._stream.close()
        self._insist("remove", lambda: self._api.remove_container(self.id, force=True, v=True))
        self._removed = True

    def _insist(self, what: str, ask: Callable[[], None]) -> None:
        """Ask again where the engine refuses: it may be busy ending what the container's code has started."""
        for tries_left in reversed(range(_TRIES)):
            try:
                return ask()
            except APIError as error:
                if error.status_code in _GONE:
                    return None
                if not tries_left:
                    raise HostError(f"cannot {what} container {self.id[:12]}: {_reason(error)}") from error
            except requests.RequestException as error:
                if not tries_left:
                    raise HostError(f"lost the engine, cannot {what} container {self.id[:12]}: {error}") from error
            time.sleep(_AGAIN_SECONDS)
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def _attached(self) -> FramedStream:
        if self._stream is None:
            raise HostError(f"{self.spec.role} container {self.id[:12]} has not been run")
        return self._stream

    def _count(self, size: int) -> None:
        self._output_bytes += size
        if self._output_bytes > self.spec.max_output_bytes:
            with suppress(HostError):  # who writes so much must not gain by it that the engine is busy
                self.kill()
            raise OutputFlood(f"more than {self.spec.max_output_bytes} bytes of output")


def _reason(error: BaseException) -> str:
    explanation = getattr(error, "explanation", None)
    return str(explanation or error).strip().splitlines()[0]
