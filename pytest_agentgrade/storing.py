"""What an attempt's results become in its record."""

from __future__ import annotations

import hashlib
from contextlib import suppress

from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.attempt.endings import Endings
from pytest_agentgrade.errors import AgentGradeError, HostError
from pytest_agentgrade.escaping import escape
from pytest_agentgrade.records import model
from pytest_agentgrade.records.store import AttemptStore
from pytest_agentgrade.submission.render import render_patch
from pytest_agentgrade.submission.tree import Submission

_PATCH_CHARACTERS = 4_000_000


def workspace_phase(task: Task, commit_id: str, seconds: float) -> model.WorkspacePhase:
    """The initial workspace, as every attempt of the task gets it."""
    return model.WorkspacePhase(
        tree_digest=task.base.digest,
        commit_id=commit_id,
        task_digest=task.digest,
        prompt_sha256=hashlib.sha256(task.prompt.encode()).hexdigest(),
        seconds=seconds,
    )


def submission_phase(task: Task, submission: Submission) -> model.SubmissionPhase:
    """What was changed, sorted by whether it is judged."""
    changed = task.base.changed_paths(submission.tree)
    return model.SubmissionPhase(
        origin=submission.origin.value,
        digest=submission.tree.digest,
        changed=[path for path in changed if task.is_editable(path)],
        ignored=[path for path in changed if not task.is_editable(path)],
        notes=list(submission.notes),
    )


def with_endings(phase: model.SubmissionPhase, endings: Endings) -> model.SubmissionPhase:
    """The same, with how the attempt ended and the head room it left."""
    found = [
        model.EndingRecord(ending=record.ending.value, at_seconds=record.at_seconds, detail=record.detail)
        for record in endings.records
    ]
    names = ("tokens_left", "seconds_left", "context_left", "turns_left")
    head_room = {name: getattr(endings, name) for name in names}
    return phase.model_copy(update={"endings": found, **head_room})


def store_submission(store: AttemptStore, task: Task, submission: Submission, phase: model.SubmissionPhase) -> None:
    """The tree and its patch first; the phase says that they are there."""
    store.write_submission(submission.tree)
    patch = render_patch(task.base, submission.tree)
    store.write_text("submission.patch", escape(patch, _PATCH_CHARACTERS, keep_newlines=True))
    store.write(phase)


def journal(store: AttemptStore, fault: AgentGradeError, retried: int = 0) -> None:
    """An attempt leaves a record whatever happened; where even that fails, the first fault is the one to show."""
    with suppress(HostError):  # a full disk, most likely: the caller raises the fault that came first
        reached, message = _reached(store), escape(fault.message)
        store.write(
            model.FaultRecord(fault=fault.fault.value, message=message, hint=fault.hint, phase=reached, retried=retried)
        )


def _reached(store: AttemptStore) -> str:
    """The first phase that is not finished."""
    record = store.record()
    phases = {"workspace": record.workspace, "server": record.server, "agent": record.agent}
    return next((name for name, phase in phases.items() if phase is None), "submission")


def has_asked(store: AttemptStore) -> bool:
    """Whether the agent has sent a request: from then on a fault is no longer tried again."""
    exchanges = store.path("exchanges.jsonl")
    return exchanges.exists() and exchanges.stat().st_size > 0
