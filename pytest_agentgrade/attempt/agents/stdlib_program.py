"""What the agents that are programs of ours have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pytest_agentgrade.attempt.agents.base import (
    EXCHANGE_PLACE,
    MODEL_URL,
    PROMPT_PLACE,
    WORKSPACE_PLACE,
    AgentBase,
    AgentEvent,
)


class StdlibProgram(AgentBase):
    """Runs one file, written for the standard library, in the container's own Python; it tells events."""

    name: ClassVar[str]
    version: ClassVar[str]
    needs_tools: ClassVar[bool]
    program: ClassVar[str]
    """Its name among :meth:`files`."""

    def command(self) -> tuple[str, ...]:
        """The program, isolated from whatever lies in the workspace."""
        options = ("--url", MODEL_URL, "--workspace", WORKSPACE_PLACE)
        return ("python3", "-I", "-B", f"{EXCHANGE_PLACE}/{self.program}", PROMPT_PLACE, *options)

    def finished(self, events: Sequence[AgentEvent]) -> bool | None:
        """Whether it ended with all that the model had to say: ``finish`` called, or the one reply whole."""
        ends = [event.data for event in events if event.data.get("event") == "end"]
        return ends[-1].get("reason") == "finish" if ends else None
