"""A run that is under way: its attempts, draws and verdicts."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.errors import AgentGradeError, HostError, as_fault
from pytest_agentgrade.plan import AttemptKey, keys_in_order
from pytest_agentgrade.records.model import AttemptRecord, DrawRecord, KeyRecord, SubmissionPhase
from pytest_agentgrade.records.store import RunStore
from pytest_agentgrade.run_setup import RunSetup
from pytest_agentgrade.turns import Turns
from pytest_agentgrade.waiting import Waiting

if TYPE_CHECKING:
    from pytest_agentgrade.grading.candidate import Candidate
    from pytest_agentgrade.grading.refused import RefusedCandidate
    from pytest_agentgrade.grading.suite import Check
    from pytest_agentgrade.machine import Machine

Narrator = Callable[[str], None]


class Run:
    """An opened run: the machine side is started when the first attempt or check needs it."""

    def __init__(self, setup: RunSetup, store: RunStore, worker: str | None, log: Narrator) -> None:
        self.setup = setup
        self.store = store
        self._record = store.run()
        self._done: dict[AttemptKey, AttemptRecord] = {}
        self._faults: dict[AttemptKey, AgentGradeError] = {}
        self._draws: dict[str, dict[str, DrawRecord]] = {}
        self._checks: dict[str, dict[str, Check]] = {}
        self._told: set[AttemptKey] = set()
        self._exit = ExitStack()
        self._worker, self._log = worker, log
        self._session = worker or secrets.token_hex(8)

    @classmethod
    def open(cls, setup: RunSetup, folder: Path, worker: str | None, log: Narrator) -> Run:
        """Open the run in ``folder``; ``worker`` is xdist's id of the test run when several processes share it."""
        return cls(setup, RunStore(folder), worker, log)

    @cached_property
    def machine(self) -> Machine:
        """Docker engine, sandbox image, judge and locks of this host."""
        from pytest_agentgrade.machine import Machine

        return self._exit.enter_context(Machine.open(self.setup.settings, self._record.run_id, self._log))

    def ensure(self, key: AttemptKey, selected: Sequence[AttemptKey], narrate: Narrator) -> AttemptRecord | None:
        """Have the attempt's submission stored: run the attempt unless an earlier one is good.

        Returns its record at the first call in this process, None afterwards.
        Never raises for a fault: :meth:`open_candidate` does, so that every check of the attempt shows it.
        """
        if key in self._done:
            return None
        order = keys_in_order(self.setup.plan, selected)
        turns = Turns(self.store.folder / "turns", self._worker, order)
        place = f"attempt {order.index(key) + 1} of {len(order)}"
        try:
            with turns.turn(key, self.setup.settings):
                self._ensure(key, place, narrate)
            submission = self.store.attempt(key).read(SubmissionPhase)
            if submission is not None and submission.refused is None:
                self.machine.make_ready(list(selected).count(key))
        except Exception as error:
            self._faults[key] = as_fault(error)
            narrate(f"{key}: {self._faults[key]}")
        self._done[key] = self._settled(key)
        return self._done[key]

    def _settled(self, key: AttemptKey) -> AttemptRecord:
        """The attempt's record; a fault that came before its first phase is journaled here."""
        from pytest_agentgrade.storing import journal

        attempt, fault = self.store.attempt(key), self._faults.get(key)
        try:
            record = attempt.record()
            if fault is None or record.fault is not None or record.submission is not None:
                return record
            journal(attempt, fault)
            return attempt.record()
        except AgentGradeError as error:
            # What is on disk cannot be read: its file stays as it is, and every check of the attempt says why.
            self._faults.setdefault(key, error)
            return AttemptRecord(key=KeyRecord(**asdict(key)))

    def _ensure(self, key: AttemptKey, place: str, narrate: Narrator) -> None:
        from pytest_agentgrade.pipeline import Attempt

        attempt, task = self.store.attempt(key), self.setup.task(key.task)
        record = attempt.record()
        stored = None if record.fault is not None else record.submission
        self._draws_of(task, narrate)
        if self.setup.patches is not None:
            self._ensure_patch(key, stored, narrate)
        elif stored is None:
            attempt.clear()
            agent, mode = self.setup.agent, self.setup.mode(key.mode)
            assert agent is not None, "a run without patches has an agent"
            Attempt(
                key, task, mode, agent, self.setup.settings, self.machine, attempt,
                lambda line: narrate(f"{place}, {line}"), self._session,
            ).run()  # fmt: skip

    def _ensure_patch(self, key: AttemptKey, stored: SubmissionPhase | None, narrate: Narrator) -> None:
        """The patch as it is now: nobody wants verdicts on one that has been changed since."""
        from pytest_agentgrade.patch_intake import is_that_patch, take_patch

        assert self.setup.patches is not None
        attempt, task = self.store.attempt(key), self.setup.task(key.task)
        patch = self.setup.patches.find(key.task, key.mode, key.seed, key.repeat)
        assert patch is not None, "the plan has attempts with a patch only"
        if stored is not None and is_that_patch(task, patch, stored):
            return
        if stored is not None:
            narrate(f"{key}: {patch.name} has changed: the submission and verdicts there were are set aside")
        attempt.clear()
        take_patch(task, patch, attempt)

    @contextmanager
    def open_candidate(self, key: AttemptKey, check: str) -> Generator[Candidate | RefusedCandidate, None, None]:
        """The attempt's submission in a fresh container, for one check; raises the attempt's fault."""
        if key in self._faults:
            raise self._faults[key]
        task = self.setup.task(key.task)
        draw = self._draws_of(task, _silent)[check]
        with self.machine.candidate(task, self.store.attempt(key), int(draw.seed, 16)) as opened:
            yield opened

    def record_verdict(self, key: AttemptKey, check: str, error: BaseException | None, seconds: float) -> bool:
        """Journal how a check ended; True when that is nobody's failure but a fault of host or task author."""
        from pytest_agentgrade.machine import verdict_record

        task = self.setup.task(key.task)
        if isinstance(error, KeyboardInterrupt):
            return False
        draw = self._draws_of(task, _silent)[check]
        verdict = verdict_record(task, self._checks_of(task)[check], draw, error, seconds)
        self.store.attempt(key).write_verdict(verdict)
        return verdict.outcome == "error"

    def properties(self, key: AttemptKey, check: str) -> list[tuple[str, object]]:
        """What JUnit says of a check and its attempt; the first check of an attempt carries the whole record."""
        from pytest_agentgrade.reporting.properties import case_properties

        draw = self._draws.get(key.task, {}).get(check)
        drawn = None if draw is None else (draw.n, draw.seed)
        beyond, whole = self._checks_of(self.setup.task(key.task))[check].beyond, key not in self._told
        self._told.add(key)
        return case_properties(self._done[key], self._record, beyond=beyond, draw=drawn, whole=whole)

    def is_finished(self, key: AttemptKey) -> bool:
        """Whether the attempt has all its verdicts, or a fault for which it has none."""
        record = self.store.attempt(key).record()
        return record.complete or record.fault is not None

    def close(self) -> None:
        """Stop all that was started. What the host fails at is told: it must not take the summary away."""
        try:
            self._exit.close()
        except HostError as fault:
            self._log(f"{fault}; the next run removes what is left")

    def _draws_of(self, task: Task, narrate: Narrator) -> dict[str, DrawRecord]:
        """The task's draws: made once for the run, by whichever process comes first."""
        if (cached := self._draws.get(task.name)) is not None:
            return cached
        folder = self.store.folder / "draws"
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f".{task.name}.lock"):
            if self.store.read_draws(task.name) is None:
                self._make_draws(task, narrate)
        draws = self.store.read_draws(task.name)
        assert draws is not None
        self._draws[task.name] = draws
        return draws

    def _checks_of(self, task: Task) -> dict[str, Check]:
        from pytest_agentgrade.grading.suite import load_checks

        if task.name not in self._checks:
            self._checks[task.name] = {check.name: check for check in load_checks(task)}
        return self._checks[task.name]

    def _make_draws(self, task: Task, narrate: Narrator) -> None:
        from pytest_agentgrade.grading.draws import choose_draws

        key, checks = bytes.fromhex(self._record.draw_key), self._checks_of(task)
        narrate(f"{task.name}: choosing random inputs for its {len(checks)} checks, once for the whole run")
        with self.machine.quiet_clock():
            waiting = Waiting(narrate, told=True)
            chosen = choose_draws(
                checks.values(), task, key,
                lambda n: waiting.still(lambda: f"{task.name} has inputs for {n} of {len(checks)} checks"),
            )  # fmt: skip
        self.store.write_draws(task.name, [DrawRecord(check=d.check, n=d.n, seed=f"{d.seed:x}") for d in chosen])


def _silent(_line: str) -> None:
    pass
