"""One attempt, from the fixture to the stored submission. Reads from top to bottom; data flows one way."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.attempt import serving, snapshot, workspace
from pytest_agentgrade.attempt.agent_phase import agent_phase
from pytest_agentgrade.attempt.agents.base import Agent, AgentRun
from pytest_agentgrade.attempt.agents.installing import installed_packages
from pytest_agentgrade.attempt.agents.keepsakes import keep_files
from pytest_agentgrade.attempt.agents.runner import SOCKET_NAME, run_agent
from pytest_agentgrade.attempt.endings import AttemptLimits, Endings, classify_endings
from pytest_agentgrade.attempt.exchange import Exchange
from pytest_agentgrade.attempt.proxy import RecordingProxy
from pytest_agentgrade.attempt.proxy_policy import ProxyPolicy
from pytest_agentgrade.attempt.server import ProofStatus, RunningServer
from pytest_agentgrade.errors import AgentGradeError, HostError, SettingsError, SubmissionRefused, as_fault
from pytest_agentgrade.machine import Machine
from pytest_agentgrade.plan import AttemptKey
from pytest_agentgrade.records import model
from pytest_agentgrade.records.store import AttemptStore
from pytest_agentgrade.sandbox.image import Image
from pytest_agentgrade.sandbox.temporary import temporary_folder
from pytest_agentgrade.sandbox.volume import WorkspaceVolume
from pytest_agentgrade.storing import (
    has_asked,
    journal,
    store_submission,
    submission_phase,
    with_endings,
    workspace_phase,
)
from pytest_agentgrade.submission.tree import Origin

TRIES = 2
"""A host fault before the agent's first request says nothing about the mode: tried once more."""
Narrator = Callable[[str], None]


@dataclass(frozen=True)
class Attempt:
    """One attempt to be made, and the steps that make it; each stores its phase when it is done."""

    key: AttemptKey
    task: Task
    mode: Mode
    agent: Agent
    settings: Settings
    machine: Machine
    store: AttemptStore
    narrate: Narrator
    session: str
    """Names the call of pytest that makes it."""

    def run(self) -> None:
        """Make it, once more after a host fault that came before any request.

        Raises the fault, journaled too, when the attempt ended by one that is not the model's.
        """
        for tried in range(TRIES):
            try:
                self._run()
                return
            except AgentGradeError as fault:
                if isinstance(fault, HostError) and self._is_measured():
                    self.narrate(f"{self.key}: {fault}; that was after its submission had been stored")
                    return
                if isinstance(fault, HostError) and tried + 1 < TRIES and not has_asked(self.store):
                    self.narrate(f"{self.key}: {fault}; trying once more")
                    self.store.clear()
                    continue
                journal(self.store, fault, tried)
                raise
            except Exception as bug:
                error = as_fault(bug)
                journal(self.store, error, tried)
                raise error from bug

    def _is_measured(self) -> bool:
        """Whether all that counts is stored: what the host fails at then, tidying up, voids no attempt."""
        agent, submission = self.store.read(model.AgentPhase), self.store.read(model.SubmissionPhase)
        return submission is not None and agent is not None and agent.mode_proof != ProofStatus.CONTRADICTED.value

    def _run(self) -> None:
        image = self.machine.agent_image(self.agent)
        packages = installed_packages(self.machine.client, image.id)
        built = self._build_workspace()
        with self._server() as server, self._volume(built) as volume, self._home() as home:
            counted_before = server.metrics()
            run, exchanges = self._work(image, server, volume, home)
            phase = agent_phase(
                run, exchanges, server, self.mode, self.settings,
                seed=self.key.sampling_seed, image_id=image.id, packages=packages, counted_before=counted_before,
                session=self.session,
            )  # fmt: skip
            self.store.write(phase)
            self._take_snapshot(run, exchanges, volume, server)
            self._keep_files(home)
        if phase.mode_proof == ProofStatus.CONTRADICTED.value:
            raise SettingsError("; ".join(phase.mode_notes), "correct the flags or the server of the mode")

    def _build_workspace(self) -> workspace.Workspace:
        started = time.monotonic()
        built = workspace.build(self.task)
        self.store.write(workspace_phase(self.task, built.commit_id, time.monotonic() - started))
        return built

    @contextmanager
    def _server(self) -> Generator[RunningServer, None, None]:
        started = time.monotonic()
        with self.machine.servers.serve(self.mode, self.store.path("server.log")) as (server, served_before):
            phase = serving.server_phase(server, self.mode, time.monotonic() - started, served_before)
            self.store.write(phase)
            serving.check_context(self.key.response_tokens, phase.context, f"the server of mode {self.mode.name}")
            if self.agent.needs_tools and server.supports_tools is False:
                what = f"the chat template of {phase.model or server.url} has no tools"
                raise SettingsError(f"{what}, agent {self.agent.name} needs them", "choose a model that knows tools")
            yield server

    @contextmanager
    def _volume(self, built: workspace.Workspace) -> Generator[WorkspaceVolume, None, None]:
        with self._new_volume() as volume:
            volume.write_tar(built.tar)
            yield volume

    @contextmanager
    def _home(self) -> Generator[WorkspaceVolume | None, None, None]:
        """A HOME of its own, empty, where the agent needs one."""
        if not self.agent.needs.home_bytes:
            yield None
            return
        with self._new_volume(size=self.agent.needs.home_bytes) as volume:
            yield volume

    def _new_volume(self, **limits: int) -> WorkspaceVolume:
        machine = self.machine
        return WorkspaceVolume(machine.client, machine.image.id, machine.owner, machine.run_id, **limits)

    def _keep_files(self, home: WorkspaceVolume | None) -> None:
        """The agent's own logs and sessions, as far as they are small enough."""
        if home is not None and (kept := keep_files(home.read_tar(), self.agent.needs.kept)):
            self.store.write_bytes("agent-files.tar.gz", kept)

    def _work(
        self, image: Image, server: RunningServer, volume: WorkspaceVolume, home: WorkspaceVolume | None
    ) -> tuple[AgentRun, tuple[Exchange, ...]]:
        """The agent at work, on the clock, with the proxy as its only way out."""
        machine, seconds = self.machine, self.settings.task_seconds
        with temporary_folder() as private:
            exchange_dir = private / "x"
            exchange_dir.mkdir()
            with (
                machine.quiet_clock(),
                self._proxy(server, exchange_dir / SOCKET_NAME) as proxy,
            ):
                machine.judge.settle()
                self.narrate(f"{self.key}: agent has {seconds:g} s")
                run = run_agent(
                    machine.client,
                    image.id,
                    self.agent,
                    self.task.prompt,
                    volume=volume.name,
                    home=None if home is None else home.name,
                    exchange_dir=exchange_dir,
                    seconds=seconds,
                    owner=machine.owner,
                    run_id=machine.run_id,
                    on_start=lambda started: proxy.start_clock(started, seconds),
                    runtime=self.settings.runtime,
                )
        self.store.write_text("agent.stdout", run.stdout_tail)
        self.store.write_text("agent.stderr", run.stderr_tail)
        return run, proxy.exchanges

    def _proxy(self, server: RunningServer, socket_path: Path) -> RecordingProxy:
        log = self.store.path("exchanges.jsonl")
        return RecordingProxy(
            server.url, socket_path, self._policy(), log,
            key=server.key, is_auxiliary=self.agent.is_auxiliary,
        )  # fmt: skip

    def _policy(self) -> ProxyPolicy:
        sampling = self.settings.sampling
        return ProxyPolicy(
            seed=self.key.sampling_seed,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k,
            min_p=sampling.min_p,
            response_tokens=self.key.response_tokens,
            max_turns=self.settings.turns,
            thinking={} if self.settings.thinking is None else {"reasoning_effort": self.settings.thinking},
            abort_loops=self.settings.abort_loops,
        )

    def _take_snapshot(
        self, run: AgentRun, exchanges: Sequence[Exchange], volume: WorkspaceVolume, server: RunningServer
    ) -> None:
        """Whatever the workspace holds now is the submission, whichever limit was met."""
        try:
            submission = snapshot.take(volume)
        except SubmissionRefused as refusal:
            # What cannot be read was written all the same: nobody may say that there was no edit.
            endings = self._endings(run, exchanges, server, ("refused",), ())
            phase = model.SubmissionPhase(origin=Origin.AGENT.value, digest=None, refused=str(refusal))
            self.store.write(with_endings(phase, endings))
            return
        phase = submission_phase(self.task, submission)
        endings = self._endings(run, exchanges, server, phase.changed, phase.ignored)
        store_submission(self.store, self.task, submission, with_endings(phase, endings))

    def _endings(
        self,
        run: AgentRun,
        exchanges: Sequence[Exchange],
        server: RunningServer,
        changed: Sequence[str],
        ignored: Sequence[str],
    ) -> Endings:
        limits = AttemptLimits(
            response_tokens=self.key.response_tokens,
            context=server.info.context,
            task_seconds=self.settings.task_seconds,
            max_turns=self.settings.turns,
        )
        return classify_endings(exchanges, run, changed, ignored, limits, server_died=not server.alive())
