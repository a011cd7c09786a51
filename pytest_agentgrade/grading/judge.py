"""The judge: every check in a fresh container, every verdict made on the host."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import docker

from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.grading.candidate import Candidate
from pytest_agentgrade.grading.docker_transport import DockerTransport, judge_spec
from pytest_agentgrade.grading.draws import ChosenDraw
from pytest_agentgrade.grading.pool import TransportPool
from pytest_agentgrade.grading.session import Limits
from pytest_agentgrade.grading.suite import Check
from pytest_agentgrade.grading.verdict import Outcome, Verdict, classify
from pytest_agentgrade.sandbox.image import Image
from pytest_agentgrade.sandbox.owner import Owner
from pytest_agentgrade.submission.tree import Tree

__all__ = ["Judge", "Outcome", "Verdict", "classify"]


class Judge:
    """Opens candidates in containers of one engine. Close it, or use it as a context manager."""

    def __init__(
        self,
        client: docker.DockerClient,
        image: Image,
        owner: Owner,
        run_id: str,
        *,
        runtime: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        spec = judge_spec(image, runtime)
        self._pool = TransportPool(lambda: DockerTransport(client, spec, owner, run_id))
        self._limits = limits or Limits()

    def prestart(self, count: int) -> None:
        """Start containers in the background until ``count`` wait. Never while a task clock runs on this host."""
        self._pool.prestart(count)

    def settle(self) -> None:
        """Wait until no container is being started or removed."""
        self._pool.settle()

    @contextmanager
    def open(self, task: Task, tree: Tree, seed: int) -> Generator[Candidate, None, None]:
        """A candidate for one check; leaving without an exception asks whether it is still in turn.

        ``tree`` is what :func:`judged_tree` made. Raises HostError when no container starts.
        """
        transport = self._pool.take()
        try:
            with Candidate(transport, task, tree, seed, self._limits) as candidate:
                yield candidate
        finally:
            self._pool.dispose(transport)

    def run(self, check: Check, task: Task, tree: Tree, draw: ChosenDraw) -> Verdict:
        """One check on one candidate, without pytest."""
        started = time.monotonic()
        found: BaseException | None = None
        try:
            with self.open(task, tree, draw.seed) as candidate:
                check.function(candidate)
        except BaseException as error:
            found = error
        outcome, reason, fault = classify(found)
        seconds = time.monotonic() - started
        return Verdict(check.name, check.beyond, outcome, reason, seconds, draw.n, draw.seed, fault)

    def close(self) -> None:
        """Remove all containers."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
