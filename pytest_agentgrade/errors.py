"""Everything that can go wrong, sorted by whose fault it is.

A *fault* is trouble that says nothing about the model: it never counts for or against a mode. What the model itself
causes (a limit, a broken patch) is no exception but a recorded ending or verdict.
"""

from __future__ import annotations

import errno
from enum import Enum


class Fault(Enum):
    """Whose fault an error is."""

    USER = "user"
    """A setting, an option or a file given by the person who runs the tool."""
    TASK_AUTHOR = "task author"
    """A task or a hidden check that breaks the rules of its trade."""
    HOST = "host"
    """Docker, disk, processes of this machine; a server that never came up."""
    SERVER = "server"
    """The model server failed after the attempt's first request: an outcome of the mode."""
    AGENT = "agent"
    """The agent program itself failed to start or crashed."""
    SUBMISSION = "submission"
    """What the agent (or a patch file) left cannot be read as a tree of files."""


class AgentGradeError(Exception):
    """Base of all errors of this package; ``str()`` is the one sentence for the user.

    Instances are picklable and survive a JSON round trip as ``(fault, message, hint)``.
    """

    fault = Fault.HOST

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} - {self.hint}" if self.hint else self.message


class SettingsError(AgentGradeError):
    """A setting, option or environment that cannot be used."""

    fault = Fault.USER


class TaskAuthorError(AgentGradeError):
    """A task or hidden check that is wrong in itself."""

    fault = Fault.TASK_AUTHOR


class HostError(AgentGradeError):
    """This machine could not do what was asked of it."""

    fault = Fault.HOST


class EngineUnavailable(HostError):
    """No Docker engine answers."""


class CommandFailed(HostError):
    """A command in a container that the engine ran as it should ended badly, or fell silent."""


class WorkspaceUnreadable(HostError):
    """Reading what an agent left failed although the container that reads it works: it was made to be unreadable."""


class ServerError(AgentGradeError):
    """The model server did something a measurement cannot go on with."""

    fault = Fault.SERVER


class AgentError(AgentGradeError):
    """The agent program could not run."""

    fault = Fault.AGENT


class SubmissionRefused(AgentGradeError):
    """A submission that is not a plain tree of allowed files; names the (escaped) path."""

    fault = Fault.SUBMISSION


_OF_THIS_MACHINE = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.EACCES, errno.EPERM}
    | {errno.EAGAIN, errno.ENOMEM}
)
"""No program could have done better."""


def as_fault(error: Exception) -> AgentGradeError:
    """``error`` itself if it says whose fault it is, else a fault of the host: a bug says nothing about a model."""
    if isinstance(error, AgentGradeError):
        return error
    if isinstance(error, MemoryError):
        fault = HostError("MemoryError: no memory was left on this machine", "free some, or use a smaller model")
    elif isinstance(error, OSError) and error.errno in _OF_THIS_MACHINE:
        fault = HostError(f"{type(error).__name__}: {error}", "look at this machine's disks, limits and permissions")
    else:
        fault = HostError(f"{type(error).__name__}: {error}", "this is a fault of pytest-agentgrade: please report it")
    fault.__cause__ = error
    return fault


class CandidateFailed(Exception):
    """The candidate did something a check does not accept. Like a failed ``assert``: the one way to lose a check.

    ``str()`` is escaped already and safe to show.
    """
