"""Which processes the containers of a run have on this host, and whether any of them outlives its container."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from docker.errors import APIError

from pytest_agentgrade.sandbox.engine import connect
from pytest_agentgrade.sandbox.owner import process_start_time


class HostProcess(NamedTuple):
    """A process as this host knows it; number and start time together are never used again."""

    pid: int
    started: int
    command: str

    @property
    def alive(self) -> bool:
        return process_start_time(self.pid) == self.started


class ContainerWatch:
    """Lists the processes of all agents' containers on the engine again and again, until ``__exit__``."""

    def __init__(self, every_seconds: float = 0.3) -> None:
        self._every = every_seconds
        self._seen: dict[str, set[HostProcess]] = defaultdict(set)
        self._containers: dict[str, set[str]] = defaultdict(set)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def processes(self, run_id: str) -> set[HostProcess]:
        """All that were seen in the agents' containers of that run."""
        return self._seen[run_id]

    def control_groups(self, run_id: str) -> list[Path]:
        """Folders of these containers' control groups that still exist."""
        names = self._containers[run_id]
        found = os.walk("/sys/fs/cgroup")  # says nothing of what goes away meanwhile
        return [Path(folder, one) for folder, ones, _ in found for one in ones if any(name in one for name in names)]

    def _watch(self) -> None:
        client = connect()
        api: Any = client.api
        try:
            while not self._over.wait(self._every):
                for container in api.containers(filters={"label": "agentgrade.role=agent"}):
                    self._look_into(api, container["Id"], container["Labels"]["agentgrade.run"])
        finally:
            client.close()

    def _look_into(self, api: Any, container: str, run_id: str) -> None:
        try:
            rows = api.top(container, "-eo pid,args")["Processes"]
        except APIError:
            return  # it ended between the list and the look
        self._containers[run_id].add(container)
        for pid, command in rows or ():
            if (started := process_start_time(int(pid))) is not None:
                self._seen[run_id].add(HostProcess(int(pid), started, command))
