"""What an agent is to the rest of the package, and what a run of one leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol

EXCHANGE_PLACE = "/exchange"
"""Folder in the container, read-only: the proxy's socket, the prompt, the agent's files."""
PROMPT_PLACE = f"{EXCHANGE_PLACE}/prompt.md"
"""File in the container with the task's text."""
WORKSPACE_PLACE = "/work"
"""Folder in the container that the agent may change, and its working directory."""
MODEL_URL = "http://127.0.0.1:8080/v1"
"""Base URL of the chat completions, inside the container."""


class AgentEvent(NamedTuple):
    """A JSON line that the agent wrote to stdout; its texts are escaped."""

    at_seconds: float
    """Of the task clock, when the host read it."""
    data: Mapping[str, Any]


class Agent(Protocol):
    """A program that edits the workspace with the help of the model behind :data:`MODEL_URL`."""

    @property
    def name(self) -> str:
        """As in the setting ``agent``."""

    @property
    def version(self) -> str:
        """Changes whenever its requests or its behaviour change."""

    @property
    def needs_tools(self) -> bool:
        """Whether the model's chat template must support tools."""

    def command(self) -> tuple[str, ...]:
        """The program and its arguments, as they are in the container."""

    def files(self) -> Mapping[str, bytes]:
        """Files for :data:`EXCHANGE_PLACE`: plain names and contents."""

    def env(self) -> Mapping[str, str]:
        """Environment, beside HOME and PATH."""

    def finished(self, events: Sequence[AgentEvent]) -> bool | None:
        """Whether it ended because the model said so; None when its events do not tell."""


class AgentEnd(Enum):
    """How a run of an agent ended."""

    EXITED = "exited"
    """Its process ended, whatever the exit code."""
    CLOCK = "clock"
    """Killed when the task clock ran out."""
    KILLED = "killed"
    """Killed for writing more output than allowed."""


@dataclass(frozen=True)
class AgentRun:
    """What the host saw of one run."""

    agent: str
    version: str
    ended: AgentEnd
    exit_code: int | None
    """Of the agent's process; None when it was killed."""
    oom_killed: bool
    """Some process in the container was killed for memory."""
    started: float
    """``time.monotonic()`` at the start of the agent's process."""
    started_at: float
    """The same on the wall clock, in seconds since 1970."""
    seconds: float
    """The task clock: from there to exit or kill."""
    events: tuple[AgentEvent, ...] = ()
    finished: bool | None = None
    """See :meth:`Agent.finished`."""
    stdout_tail: str = ""
    """End of stdout, escaped, newlines kept."""
    stderr_tail: str = ""
