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
HOME_PLACE = "/home/agent"
"""HOME of an agent that needs one of its own."""
MODEL_URL = "http://127.0.0.1:8080/v1"
"""Base URL of the chat completions, inside the container."""


class AgentEvent(NamedTuple):
    """A JSON line that the agent wrote to stdout; its texts are escaped."""

    at_seconds: float
    """Of the task clock, when the host read it."""
    data: Mapping[str, Any]


@dataclass(frozen=True)
class AgentNeeds:
    """What an agent needs beside its program."""

    image: str | None = None
    """Image to run in, by name; None: the sandbox image, which has Python, git and the common tools."""
    image_hint: str = ""
    """What to do when that image is not there."""
    memory_bytes: int = 1 << 30
    """Memory and swap together."""
    home_bytes: int = 0
    """Size of a HOME of its own in memory, new for each attempt; 0: HOME is ``/tmp``."""
    kept: tuple[str, ...] = ()
    """Patterns (``fnmatch``) of paths below that HOME: the attempt keeps these files, logs and sessions for example."""


class Agent(Protocol):
    """A program that edits the workspace with the help of the model behind :data:`MODEL_URL`.

    :class:`AgentBase` has an answer to all that most agents need no answer of their own for.
    """

    @property
    def name(self) -> str:
        """As in the setting ``agent``."""

    @property
    def version(self) -> str:
        """Changes whenever its requests or its behaviour change."""

    @property
    def needs_tools(self) -> bool:
        """Whether the model's chat template must support tools."""

    @property
    def needs(self) -> AgentNeeds:
        """Image, memory, HOME."""

    def command(self) -> tuple[str, ...]:
        """The program and its arguments, as they are in the container."""

    def files(self) -> Mapping[str, bytes]:
        """Files for :data:`EXCHANGE_PLACE`: plain names and contents."""

    def env(self) -> Mapping[str, str]:
        """Environment, beside HOME and PATH."""

    def finished(self, events: Sequence[AgentEvent]) -> bool | None:
        """Whether it ended because the model said so; None when its events do not tell."""

    def is_auxiliary(self, request: Mapping[str, Any]) -> bool:
        """Whether a chat completion request does not serve the task: a title for the session, for example."""


class AgentBase:
    """Answers for an agent that needs nothing special; see :class:`Agent` for what is asked."""

    @property
    def needs(self) -> AgentNeeds:
        """The sandbox image, 1 GB."""
        return AgentNeeds()

    def files(self) -> Mapping[str, bytes]:
        """None."""
        return {}

    def env(self) -> Mapping[str, str]:
        """Nothing."""
        return {}

    def finished(self, events: Sequence[AgentEvent]) -> bool | None:  # noqa: ARG002 - others look at them
        """The exchanges tell: a last reply that is text and asks for no tool."""
        return None

    def is_auxiliary(self, request: Mapping[str, Any]) -> bool:  # noqa: ARG002 - others look at it
        """No request is."""
        return False


def message_text(message: Mapping[str, Any]) -> str:
    """The text of a chat message, whether it is one text or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


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
