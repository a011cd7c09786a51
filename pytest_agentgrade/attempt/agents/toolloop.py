"""The built-in agent, seen from the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_agentgrade.attempt.agents import toolloop_program
from pytest_agentgrade.attempt.agents.base import (
    EXCHANGE_PLACE,
    MODEL_URL,
    PROMPT_PLACE,
    WORKSPACE_PLACE,
    AgentBase,
    AgentEvent,
)

_PROGRAM = "toolloop_program.py"


@dataclass(frozen=True)
class ToolLoop(AgentBase):
    """Runs :mod:`toolloop_program` in the container's own Python."""

    name: str = "toolloop"
    version: str = toolloop_program.VERSION
    needs_tools: bool = True

    def command(self) -> tuple[str, ...]:
        """The program, isolated from whatever lies in the workspace."""
        options = ("--url", MODEL_URL, "--workspace", WORKSPACE_PLACE)
        return ("python3", "-I", "-B", f"{EXCHANGE_PLACE}/{_PROGRAM}", PROMPT_PLACE, *options)

    def files(self) -> Mapping[str, bytes]:
        """The program alone."""
        return {_PROGRAM: Path(toolloop_program.__file__).read_bytes()}

    def finished(self, events: Sequence[AgentEvent]) -> bool | None:
        """Whether the model called ``finish``."""
        ends = [event.data for event in events if event.data.get("event") == "end"]
        return ends[-1].get("reason") == "finish" if ends else None
