"""A patch made elsewhere as an attempt's submission: no model, no agent."""

from __future__ import annotations

from pathlib import Path

from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.errors import HostError, SubmissionRefused
from pytest_agentgrade.records import model
from pytest_agentgrade.records.store import AttemptStore
from pytest_agentgrade.storing import journal, store_submission, submission_phase, workspace_phase
from pytest_agentgrade.submission.patches import apply_patch
from pytest_agentgrade.submission.paths import IntakeLimits
from pytest_agentgrade.submission.tree import Origin


def take_patch(task: Task, patch: Path, store: AttemptStore) -> None:
    """Store a patch made elsewhere as the attempt's submission."""
    store.write(workspace_phase(task, "", 0.0))
    try:
        submission = apply_patch(task.base, _read_patch(patch))
    except OSError as error:
        fault = HostError(f"cannot read {patch}: {error}", "name another folder with --agent-patches")
        journal(store, fault)
        raise fault from error
    except SubmissionRefused as refusal:
        store.write(model.SubmissionPhase(origin=Origin.PATCH.value, digest=None, refused=str(refusal)))
        return
    store_submission(store, task, submission, submission_phase(task, submission))


def is_that_patch(task: Task, patch: Path, stored: model.SubmissionPhase) -> bool:
    """Whether a stored submission is still what the patch file says; False where it cannot be read."""
    try:
        return apply_patch(task.base, _read_patch(patch)).tree.digest == stored.digest
    except OSError:
        return False
    except SubmissionRefused as refusal:
        return stored.refused == str(refusal)


def _read_patch(patch: Path) -> bytes:
    """A patch's bytes; of one that is too large, one byte more than is allowed."""
    with patch.open("rb") as file:
        return file.read(IntakeLimits().patch_bytes + 1)
