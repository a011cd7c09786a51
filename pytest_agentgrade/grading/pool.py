"""Judge containers started ahead of their use, and removed behind it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.grading.transport import Transport

PARALLEL_STARTS = 3
"""More at a time make none of them faster on two cores."""


class TransportPool:
    """Drivers that wait for their first question. Each is used once, for one check of one candidate."""

    def __init__(self, start: Callable[[], Transport]) -> None:
        self._start = start
        self._starters = ThreadPoolExecutor(PARALLEL_STARTS, thread_name_prefix="agentgrade-start")
        # One at a time: removing costs the engine half of what starting does, and the next check's verdict comes first.
        self._remover = ThreadPoolExecutor(1, thread_name_prefix="agentgrade-remove")
        self._ready: deque[Future[Transport]] = deque()
        self._removals: deque[Future[None]] = deque()
        self._lock = threading.Lock()

    def prestart(self, count: int) -> None:
        """See to it that ``count`` are started or about to be; returns at once."""
        with self._lock:
            for _ in range(count - len(self._ready)):
                self._ready.append(self._starters.submit(self._start))

    def take(self) -> Transport:
        """One that was started ahead, or a new one. Raises HostError when it did not start."""
        with self._lock:
            waiting = self._ready.popleft() if self._ready else None
        if waiting is None:
            return self._start()
        try:
            return waiting.result()
        except KeyboardInterrupt:  # it may still start: close() must find it
            self._ready.appendleft(waiting)
            raise

    def dispose(self, transport: Transport) -> None:
        """Kill and remove one in the background."""
        with self._lock:
            while self._removals and self._removals[0].done() and self._removals[0].exception() is None:
                self._removals.popleft()
            self._removals.append(self._remover.submit(transport.close))

    def settle(self) -> None:
        """Wait until nothing starts or stops any more: a task clock may run then. Raises HostError."""
        with self._lock:
            starts, removals = list(self._ready), list(self._removals)
            self._removals.clear()
        for removal in removals:
            removal.result()
        for start in starts:
            with suppress(HostError):  # whoever takes it is told
                start.result()

    def close(self) -> None:
        """Remove what was started and never used, and wait for all removals. Raises HostError when one fails."""
        with self._lock:
            starts, self._ready = list(self._ready), deque()
        for start in starts:
            if not start.cancel():
                with suppress(HostError):  # it never started: nothing to remove
                    self.dispose(start.result())
        try:
            self.settle()
        finally:
            self._starters.shutdown()
            self._remover.shutdown()
