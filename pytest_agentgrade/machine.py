"""This machine as a run uses it: engine, sandbox image, judge, and the locks that keep measurements apart."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import docker

from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.attempt.server_keeping import Servers
from pytest_agentgrade.errors import HostError, SettingsError
from pytest_agentgrade.grading.judge import Judge
from pytest_agentgrade.grading.judged_tree import judged_tree
from pytest_agentgrade.grading.refused import RefusedCandidate
from pytest_agentgrade.grading.suite import Check
from pytest_agentgrade.grading.verdict import classify
from pytest_agentgrade.records.model import DrawRecord, SubmissionPhase, VerdictRecord
from pytest_agentgrade.records.store import AttemptStore
from pytest_agentgrade.sandbox.derive import Use, find_prepared
from pytest_agentgrade.sandbox.engine import check_runtime, connect
from pytest_agentgrade.sandbox.image import Image, ensure_image
from pytest_agentgrade.sandbox.locks import locks_folder
from pytest_agentgrade.sandbox.owner import Owner
from pytest_agentgrade.sandbox.reaper import Reaper
from pytest_agentgrade.sandbox.sweep import remove_of_run, sweep
from pytest_agentgrade.sandbox.temporary import sweep_folders
from pytest_agentgrade.waiting import Waiting, held

if TYPE_CHECKING:
    from pytest_agentgrade.attempt.agents.base import Agent
    from pytest_agentgrade.grading.candidate import Candidate


def check_host(settings: Settings, agent: Agent | None, log: Callable[[str], None]) -> None:
    """What a run would stumble over at its first attempt: no engine that answers, no such runtime or image.

    Images that the user gave are made ready. Raises EngineUnavailable, or SettingsError with what to do.
    """
    client = connect()
    try:
        if settings.runtime is not None:
            check_runtime(client, settings.runtime)
        if settings.image is not None:
            ensure_image(client, settings.image, log=log)
        if agent is not None:
            _own_image(client, agent, log)
    finally:
        client.close()


def _own_image(client: docker.DockerClient, agent: Agent, log: Callable[[str], None]) -> Image | None:
    """The image of an agent that brings one."""
    tag, hint = agent.needs.image, agent.needs.image_hint
    if tag is None:
        return None
    if not hint:
        return ensure_image(client, tag, log=log, use=Use.AGENT)
    found = find_prepared(client, tag)
    if found is None:
        raise SettingsError(f"agent {agent.name}: its image {tag} is not on this engine", hint)
    return Image(tag, *found)


@dataclass(frozen=True)
class Machine:
    """Everything a run needs of the host, opened once for each process."""

    client: docker.DockerClient
    owner: Owner
    image: Image
    reaper: Reaper
    judge: Judge
    settings: Settings
    run_id: str
    locks: Path
    """Folder of the host-wide locks."""
    servers: Servers
    """Model servers; one is kept between attempts where the settings say so."""
    log: Callable[[str], None]
    """Shows a line to the user."""
    waiting: Waiting
    """Tells the user of another run that is waited for."""

    @classmethod
    @contextmanager
    def open(cls, settings: Settings, run_id: str, log: Callable[[str], None]) -> Generator[Machine, None, None]:
        """Connect, sweep what dead runs left, build the image if need be; all is stopped on the way out."""
        with ExitStack() as stack:
            client = connect()
            stack.callback(client.close)
            sweep(client)
            sweep_folders()
            owner = Owner.current()
            reaper = stack.enter_context(Reaper(owner))
            stack.callback(_remove_rest, client, owner, run_id)
            image = ensure_image(client, settings.image, log=log)
            judge = Judge(client, image, owner, run_id, runtime=settings.runtime)
            stack.callback(judge.close)
            locks = locks_folder()
            servers = Servers(settings, locks, reaper.watch, log)
            stack.callback(servers.close)
            yield cls(client, owner, image, reaper, judge, settings, run_id, locks, servers, log, Waiting(log))

    def agent_image(self, agent: Agent) -> Image:
        """The image that the agent runs in. SettingsError with what to do when it is not there."""
        return _own_image(self.client, agent, self.log) or self.image

    @contextmanager
    def quiet_clock(self) -> Generator[None, None, None]:
        """Held while a task clock runs and while anything is judged: neither disturbs the other on this host."""
        with held(self.locks / "clock.lock", "has an agent at work or judges", self.waiting):
            yield

    def make_ready(self, checks: int) -> None:
        """Start the containers for so many checks at once: never while a task clock runs on this host."""
        with self.quiet_clock():
            self.judge.prestart(checks)
            self.judge.settle()

    @contextmanager
    def candidate(
        self, task: Task, attempt: AttemptStore, draw_seed: int
    ) -> Generator[Candidate | RefusedCandidate, None, None]:
        """The stored submission of an attempt in a fresh judge container; a refused one fails every check."""
        submission = attempt.read(SubmissionPhase)
        if submission is not None and submission.refused is not None:
            yield RefusedCandidate(f"submission refused: {submission.refused}")
            return
        tree, _ignored = judged_tree(task, attempt.read_submission())
        with self.quiet_clock(), self.judge.open(task, tree, draw_seed) as opened:
            yield opened

    def verdict(self, task: Task, attempt: AttemptStore, check: Check, draw: DrawRecord) -> VerdictRecord:
        """One check on the stored submission of an attempt, without pytest. Raises HostError."""
        started, found = time.monotonic(), None
        try:
            with self.candidate(task, attempt, int(draw.seed, 16)) as candidate:
                check.function(candidate)
        except HostError:
            raise  # it says nothing about the submission, and would take the place of a verdict that does
        except BaseException as error:
            found = error
        return verdict_record(task, check, draw, found, time.monotonic() - started)


def verdict_record(
    task: Task, check: Check, draw: DrawRecord, error: BaseException | None, seconds: float
) -> VerdictRecord:
    """What is journaled of a check that ended with ``error``, or without one. Raises KeyboardInterrupt again."""
    outcome, reason, _fault = classify(error)
    return VerdictRecord(
        check=check.name,
        beyond=check.beyond,
        outcome=outcome.value,
        reason=reason,
        seconds=seconds,
        draw_n=draw.n,
        draw_seed=draw.seed,
        fingerprint=task.fingerprint,
    )


def _remove_rest(client: docker.DockerClient, owner: Owner, run_id: str) -> None:
    """Remove what an interruption cut off from whoever would have removed it, between its making and its first use."""
    with suppress(HostError):  # an engine that is gone by now: the next run sweeps
        remove_of_run(client, owner, run_id)
