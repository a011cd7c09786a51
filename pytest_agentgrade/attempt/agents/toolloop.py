"""The built-in agent, seen from the host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_agentgrade.attempt.agents import toolloop_program
from pytest_agentgrade.attempt.agents.stdlib_program import StdlibProgram


@dataclass(frozen=True)
class ToolLoop(StdlibProgram):
    """Runs :mod:`toolloop_program`."""

    name = "toolloop"
    version = toolloop_program.VERSION
    needs_tools = True
    program = "toolloop_program.py"

    def files(self) -> Mapping[str, bytes]:
        """The program alone."""
        return {self.program: Path(toolloop_program.__file__).read_bytes()}
