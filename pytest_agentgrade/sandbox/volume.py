"""The agent's workspace: a memory volume of limited size, held by a sidecar that never runs the agent's code."""

from __future__ import annotations

import shlex
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import docker
import requests
from docker.errors import APIError, DockerException

from pytest_agentgrade.errors import CommandFailed, HostError, WorkspaceUnreadable
from pytest_agentgrade.escaping import escape_bytes
from pytest_agentgrade.sandbox.container import MEGABYTE, USER, Container, ContainerSpec, VolumeMount
from pytest_agentgrade.sandbox.owner import Owner, labels
from pytest_agentgrade.sandbox.stream import STDOUT, FramedStream

WORKDIR = "/work"
_SIDECAR_EXTRA = 64 * MEGABYTE
_STEP_SECONDS = 30.0
"""Silence after which the sidecar counts as stuck."""
_DEEPEST, _LISTED = 200, 1_000_000
"""Folders within folders, and bytes, of which special files are listed: a path of two megabytes names none of use."""
_REMOVAL_TRIES = 100
"""A tenth of a second apart."""
_MAKE_READABLE = f"chmod -R u+rwX {WORKDIR}"
"""Follows no link; all files belong to the one user there is."""


class WorkspaceVolume:
    """A tmpfs volume that agent containers mount by :attr:`name` at ``/work``.

    The engine keeps the bytes while at least one container has the volume mounted; that is the sidecar. It always has
    the engine's own runtime: a gVisor or Kata sandbox does not reliably see what another one wrote.
    """

    def __init__(
        self,
        client: docker.DockerClient,
        image: str,
        owner: Owner,
        run_id: str,
        *,
        size: int = 256 * MEGABYTE,
        inodes: int = 20_000,
    ) -> None:
        """``size`` in bytes. Nothing is created before the context is entered."""
        self._client = client
        self._api: Any = client.api
        self._image = image
        self._owner = owner
        self._run_id = run_id
        self._size = size
        self._inodes = inodes
        self._name: str | None = None
        self._sidecar: Container | None = None
        self._running: _Exec | None = None

    @property
    def name(self) -> str:
        """The volume's name on the engine. Raises HostError outside the context."""
        if self._name is None:
            raise HostError("the workspace volume is not open")
        return self._name

    def mount(self) -> VolumeMount:
        """What an agent's :class:`ContainerSpec` lists among its volumes."""
        return VolumeMount(self.name, WORKDIR)

    def write_tar(self, data: bytes) -> None:
        """Unpack a tar archive into it. Raises HostError, also when the volume is too small."""
        with self._exec(("tar", "-x", "--no-same-owner", "-p", "-C", WORKDIR)) as running:
            running.feed(data)
            for _ in running.output():
                pass

    def read_tar(self) -> Generator[bytes]:
        """Everything in it as a GNU tar stream, without the top-level ``.git``.

        Files that the agent made unreadable are made readable first. tar leaves sockets out silently: ask
        :meth:`special_files` as well. Raises HostError; WorkspaceUnreadable where the agent is to blame.
        """
        script = f"{_MAKE_READABLE} && exec tar -c --format=gnu --exclude=./.git --anchored -C {WORKDIR} ."
        with self._reading(script) as running:
            yield from running.output()

    def special_files(self, limit: int = 100) -> tuple[tuple[str, bytes], ...]:
        """(find's type letter, raw relative path) of what is neither file nor folder, at most ``limit`` of them.

        Letters: ``l`` link, ``p`` fifo, ``s`` socket, ``b`` and ``c`` devices. The top-level ``.git`` is left out, and
        what lies deeper than any path may be. Raises HostError; WorkspaceUnreadable where the agent is to blame.
        """
        script = (
            f"{_MAKE_READABLE} && find {WORKDIR} -xdev -maxdepth {_DEEPEST} -path {WORKDIR}/.git -prune"
            f" -o ! -type f ! -type d -printf '%y%P\\0' | head -z -n {int(limit)} | head -c {_LISTED}"
        )
        with self._reading(script) as running:
            listing = b"".join(running.output())
        return tuple((chr(entry[0]), entry[1:]) for entry in listing.split(b"\0") if entry)

    def __enter__(self) -> Self:
        try:
            self._name = self._api.create_volume(
                driver="local", driver_opts=self._options(), labels=labels(self._owner, self._run_id, "workspace")
            )["Name"]
            self._sidecar = Container.start(self._client, self._sidecar_spec(), self._owner, self._run_id)
        except (DockerException, requests.RequestException) as error:
            self._remove()
            raise HostError(f"the engine cannot create a workspace volume: {error}") from error
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _options(self) -> dict[str, str]:
        uid, gid = USER.split(":")
        sizes = f"size={self._size},nr_inodes={self._inodes}"
        return {"type": "tmpfs", "device": "tmpfs", "o": f"{sizes},uid={uid},gid={gid},mode=0755,nosuid,nodev"}

    def _sidecar_spec(self) -> ContainerSpec:
        return ContainerSpec(
            image=self._image,
            command=("sleep", "infinity"),
            role="workspace-sidecar",
            memory_bytes=self._size + _SIDECAR_EXTRA,
            volumes=(self.mount(),),
        )

    def _exec(self, command: tuple[str, ...]) -> _Exec:
        if self._sidecar is None:
            raise HostError("the workspace volume is not open")
        self._running = _Exec(self._api, self._sidecar.id, command)
        return self._running

    @contextmanager
    def _reading(self, script: str) -> Iterator[_Exec]:
        """A command that reads what an agent left. It fails: does another one work, then what it reads is to blame."""
        try:
            with self._exec(("sh", "-c", script)) as running:
                yield running
        except CommandFailed as error:
            with self._exec(("sh", "-c", ":")) as works:
                for _ in works.output():
                    pass
            raise WorkspaceUnreadable(error.message) from error

    def _remove(self) -> None:
        if self._running is not None:
            # Output that nobody takes (a refused, half-read workspace) would hold up the sidecar's removal.
            self._running.close()
            self._running = None
        if self._sidecar is not None:
            self._sidecar.remove()
            self._sidecar = None
        if self._name is not None:
            _remove_volume(self._api, self._name)
            self._name = None


class _Exec:
    """One command in the sidecar, as a context manager; leaving it normally checks the exit code."""

    def __init__(self, api: Any, container_id: str, command: tuple[str, ...]) -> None:
        self._api = api
        self._shown = shlex.join(command)
        self._errors = b""
        try:
            self._id = api.exec_create(container_id, list(command), stdin=True)["Id"]
            self._stream = FramedStream(api.exec_start(self._id, socket=True))
        except (DockerException, requests.RequestException) as error:
            raise HostError(f"cannot run `{self._shown}` in the workspace's sidecar: {error}") from error

    def feed(self, data: bytes) -> None:
        """Send all input and its end; a command that stops reading is explained by its exit code."""
        try:
            self._stream.send(data, _STEP_SECONDS)
        except (BrokenPipeError, ConnectionResetError):
            return
        self._stream.close_input()

    def output(self) -> Iterator[bytes]:
        """stdout to its end."""
        while (piece := self._stream.receive(_STEP_SECONDS)) is not None:
            if piece.stream == STDOUT:
                yield piece.data
            else:
                self._errors = (self._errors + piece.data)[-2_000:]

    def close(self) -> None:
        """Drop the connection; closing twice is harmless."""
        self._stream.close()

    def __enter__(self) -> _Exec:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if isinstance(error, OSError):
            raise CommandFailed(f"`{self._shown}` in the workspace's sidecar is stuck: {error}") from error
        if kind is None:
            self._check()

    def _check(self) -> None:
        details = self._inspect()
        for _ in range(50):  # the exit code may come a moment after the end of the output
            if not details["Running"]:
                break
            time.sleep(0.02)
            details = self._inspect()
        if details["ExitCode"] != 0:
            said = escape_bytes(self._errors.strip().replace(b"\n", b"; "), 500)  # file names are the agent's
            code = details["ExitCode"]
            raise CommandFailed(f"`{self._shown}` in the workspace's sidecar ended with {code}: {said}")

    def _inspect(self) -> Any:
        try:
            return self._api.exec_inspect(self._id)
        except (DockerException, requests.RequestException) as error:
            raise HostError(f"lost the engine behind `{self._shown}` in the workspace's sidecar: {error}") from error


def _remove_volume(api: Any, name: str) -> None:
    """Remove a volume; the engine may need a moment to notice that its last container is gone."""
    for tries_left in reversed(range(_REMOVAL_TRIES)):
        try:
            api.remove_volume(name)
        except APIError as error:
            if error.status_code == 404:
                return
            if error.status_code != 409 or not tries_left:
                raise HostError(f"cannot remove volume {name}: {error.explanation}") from error
            time.sleep(0.1)
        except requests.RequestException as error:
            raise HostError(f"lost the engine while removing volume {name}: {error}") from error
        else:
            return
