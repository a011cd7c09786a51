"""One attempt, from the fixture to the stored submission. Reads from top to bottom; data flows one way."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.attempt import serving, snapshot, workspace
from pytest_agentgrade.attempt.agent_phase import agent_phase
from pytest_agentgrade.attempt.agents.base import Agent, AgentRun
from pytest_agentgrade.attempt.agents.keepsakes import keep_files
from pytest_agentgrade.attempt.agents.runner import SOCKET_NAME, run_agent
from pytest_agentgrade.attempt.endings import AttemptLimits, Endings, classify_endings
from pytest_agentgrade.attempt.exchange import Exchange
from pytest_agentgrade.attempt.proxy import RecordingProxy
from pytest_agentgrade.attempt.proxy_policy import ProxyPolicy
from pytest_agentgrade.attempt.server import ProofStatus, RunningServer
from pytest_agentgrade.attempt.server.config import DraftCounters
from pytest_agentgrade.errors import AgentGradeError, HostError, SettingsError, SubmissionRefused
from pytest_agentgrade.escaping import escape
from pytest_agentgrade.machine import Machine
from pytest_agentgrade.plan import AttemptKey
from pytest_agentgrade.records import model
from pytest_agentgrade.records.store import AttemptStore
from pytest_agentgrade.sandbox.volume import WorkspaceVolume
from pytest_agentgrade.submission.patches import apply_patch
from pytest_agentgrade.submission.paths import IntakeLimits
from pytest_agentgrade.submission.render import render_patch
from pytest_agentgrade.submission.tree import Origin, Submission

TRIES = 2
"""A host fault before the agent's first request says nothing about the mode: tried once more."""
_PATCH_CHARACTERS = 4_000_000
Narrator = Callable[[str], None]


def run_attempt(
    key: AttemptKey,
    task: Task,
    mode: Mode,
    agent: Agent,
    settings: Settings,
    machine: Machine,
    store: AttemptStore,
    narrate: Narrator,
) -> None:
    """Run one attempt and store every phase; raises the fault (journaled too) when it is not the model's."""
    attempt = _Attempt(key, task, mode, agent, settings, machine, store, narrate)
    for tried in range(TRIES):
        try:
            attempt.run()
            return
        except AgentGradeError as fault:
            if isinstance(fault, HostError) and tried + 1 < TRIES and not _has_asked(store):
                narrate(f"{key}: {fault}; trying once more")
                store.clear()
                continue
            _journal(store, fault, tried)
            raise
        except Exception as bug:
            error = HostError(f"{type(bug).__name__}: {bug}", "this is a fault of pytest-agentgrade: please report it")
            _journal(store, error, tried)
            raise error from bug


def take_patch(task: Task, patch: Path, store: AttemptStore) -> None:
    """Store a patch made elsewhere as the attempt's submission."""
    store.write(_workspace_phase(task, "", 0.0))
    try:
        submission = apply_patch(task.base, _read_patch(patch))
    except OSError as error:
        fault = HostError(f"cannot read {patch}: {error}", "name another folder with --agent-patches")
        _journal(store, fault, 0)
        raise fault from error
    except SubmissionRefused as refusal:
        store.write(model.SubmissionPhase(origin=Origin.PATCH.value, digest=None, refused=str(refusal)))
        return
    _store_submission(store, task, submission, _submission_phase(task, submission))


def _read_patch(patch: Path) -> bytes:
    """A patch's bytes; of one that is too large, one byte more than is allowed."""
    with patch.open("rb") as file:
        return file.read(IntakeLimits().patch_bytes + 1)


class _Attempt:
    """The steps of one attempt that need a model; each stores its phase when it is done."""

    def __init__(
        self,
        key: AttemptKey,
        task: Task,
        mode: Mode,
        agent: Agent,
        settings: Settings,
        machine: Machine,
        store: AttemptStore,
        narrate: Narrator,
    ) -> None:
        self.key, self.task, self.mode, self.settings = key, task, mode, settings
        self.machine, self.store, self.narrate = machine, store, narrate
        self.agent = agent

    def run(self) -> None:
        self.image = self.machine.agent_image(self.agent)
        built = self._build_workspace()
        with self._server() as server, self._volume(built) as volume, self._home() as home:
            counted_before = server.metrics()
            run, exchanges = self._work(server, volume, home)
            self._keep_files(home)
            phase = self._account(run, exchanges, server, counted_before)
            self.store.write(phase)
            self._take_snapshot(run, exchanges, volume, server)
        if phase.mode_proof == ProofStatus.CONTRADICTED.value:
            raise SettingsError("; ".join(phase.mode_notes), "correct the flags or the server of the mode")

    def _build_workspace(self) -> workspace.Workspace:
        started = time.monotonic()
        built = workspace.build(self.task)
        self.store.write(_workspace_phase(self.task, built.commit_id, time.monotonic() - started))
        return built

    @contextmanager
    def _server(self) -> Generator[RunningServer, None, None]:
        started = time.monotonic()
        with self.machine.servers.serve(self.mode, self.store.path("server.log")) as (server, served_before):
            phase = serving.server_phase(server, self.mode, time.monotonic() - started, served_before)
            self.store.write(phase)
            if self.agent.needs_tools and server.supports_tools is False:
                what = f"the chat template of {phase.model or server.url} has no tools"
                raise SettingsError(f"{what}, agent {self.agent.name} needs them", "choose a model that knows tools")
            yield server

    @contextmanager
    def _volume(self, built: workspace.Workspace) -> Generator[WorkspaceVolume, None, None]:
        machine = self.machine
        with WorkspaceVolume(
            machine.client, machine.image.id, machine.owner, machine.run_id, runtime=self.settings.runtime
        ) as volume:
            volume.write_tar(built.tar)
            yield volume

    @contextmanager
    def _home(self) -> Generator[WorkspaceVolume | None, None, None]:
        """A HOME of its own, empty, where the agent needs one."""
        machine, size = self.machine, self.agent.needs.home_bytes
        if not size:
            yield None
            return
        with WorkspaceVolume(
            machine.client, machine.image.id, machine.owner, machine.run_id, size=size, runtime=self.settings.runtime
        ) as volume:
            yield volume

    def _keep_files(self, home: WorkspaceVolume | None) -> None:
        """The agent's own logs and sessions, as far as they are small enough."""
        if home is not None and (kept := keep_files(home.read_tar(), self.agent.needs.kept)):
            self.store.write_bytes("agent-files.tar.gz", kept)

    def _work(
        self, server: RunningServer, volume: WorkspaceVolume, home: WorkspaceVolume | None
    ) -> tuple[AgentRun, tuple[Exchange, ...]]:
        """The agent at work, on the clock, with the proxy as its only way out."""
        machine, seconds = self.machine, self.settings.task_seconds
        with tempfile.TemporaryDirectory(prefix="agentgrade-") as private:
            machine.reaper.watch_dir(Path(private))
            exchange_dir = Path(private) / "x"
            exchange_dir.mkdir()
            with (
                machine.quiet_clock(),
                self._proxy(server, exchange_dir / SOCKET_NAME) as proxy,
            ):
                machine.judge.settle()
                self.narrate(f"{self.key}: agent at work, {seconds:g} s on the clock")
                run = run_agent(
                    machine.client,
                    self.image.id,
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
        return RecordingProxy(server.url, socket_path, self._policy(), log, is_auxiliary=self.agent.is_auxiliary)

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
        )

    def _account(
        self, run: AgentRun, exchanges: Sequence[Exchange], server: RunningServer, before: DraftCounters | None
    ) -> model.AgentPhase:
        return agent_phase(
            run, exchanges, server, self.mode, self.settings,
            seed=self.key.sampling_seed, image_id=self.image.id, counted_before=before,
        )  # fmt: skip

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
            self.store.write(_with_endings(phase, endings))
            return
        phase = _submission_phase(self.task, submission)
        endings = self._endings(run, exchanges, server, phase.changed, phase.ignored)
        _store_submission(self.store, self.task, submission, _with_endings(phase, endings))

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


def _workspace_phase(task: Task, commit_id: str, seconds: float) -> model.WorkspacePhase:
    return model.WorkspacePhase(
        tree_digest=task.base.digest,
        commit_id=commit_id,
        task_digest=task.digest,
        prompt_sha256=hashlib.sha256(task.prompt.encode()).hexdigest(),
        seconds=seconds,
    )


def _submission_phase(task: Task, submission: Submission) -> model.SubmissionPhase:
    """What was changed, sorted by whether it is judged."""
    changed = task.base.changed_paths(submission.tree)
    return model.SubmissionPhase(
        origin=submission.origin.value,
        digest=submission.tree.digest,
        changed=[path for path in changed if task.is_editable(path)],
        ignored=[path for path in changed if not task.is_editable(path)],
        notes=list(submission.notes),
    )


def _with_endings(phase: model.SubmissionPhase, endings: Endings) -> model.SubmissionPhase:
    found = [
        model.EndingRecord(ending=record.ending.value, at_seconds=record.at_seconds, detail=record.detail)
        for record in endings.records
    ]
    head_room = {"tokens_left": endings.tokens_left, "seconds_left": endings.seconds_left}
    return phase.model_copy(update={"endings": found, **head_room})


def _store_submission(store: AttemptStore, task: Task, submission: Submission, phase: model.SubmissionPhase) -> None:
    """The tree and its patch first; the phase says that they are there."""
    store.write_submission(submission.tree)
    patch = render_patch(task.base, submission.tree)
    store.write_text("submission.patch", escape(patch, _PATCH_CHARACTERS, keep_newlines=True))
    store.write(phase)


def _journal(store: AttemptStore, fault: AgentGradeError, retried: int) -> None:
    """An attempt leaves a record whatever happened; where even that fails, the first fault is the one to show."""
    record = model.FaultRecord(
        fault=fault.fault.value, message=escape(fault.message), hint=fault.hint, phase=_reached(store), retried=retried
    )
    store.write(record)


def _reached(store: AttemptStore) -> str:
    """The first phase that is not finished."""
    record = store.record()
    phases = {"workspace": record.workspace, "server": record.server, "agent": record.agent}
    return next((name for name, phase in phases.items() if phase is None), "submission")


def _has_asked(store: AttemptStore) -> bool:
    """Whether the agent has sent a request: from then on a fault is no longer tried again."""
    exchanges = store.path("exchanges.jsonl")
    return exchanges.exists() and exchanges.stat().st_size > 0
