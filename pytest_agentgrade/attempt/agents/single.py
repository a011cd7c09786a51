"""The agent ``single``, seen from the host."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest_agentgrade
from pytest_agentgrade.attempt.agents import single_program
from pytest_agentgrade.attempt.agents.base import (
    EXCHANGE_PLACE,
    MODEL_URL,
    PROMPT_PLACE,
    WORKSPACE_PLACE,
    AgentBase,
    AgentEvent,
)

_PROGRAM = "single.pyz"
_MODULES = (
    "__init__", "errors", "escaping", "attempt/__init__", "attempt/agents/__init__", "attempt/agents/toolloop_program",
    "attempt/agents/completion_edits", "attempt/agents/single_program", "submission/__init__", "submission/tree",
    "submission/paths", "submission/patch_parser", "submission/patches",
)  # fmt: skip
"""Modules of ours that the program needs; the standard library is all that they need."""
_MAIN = "from pytest_agentgrade.attempt.agents.single_program import main\nmain()\n"


@dataclass(frozen=True)
class Single(AgentBase):
    """Runs :mod:`single_program` in the container's own Python."""

    name: str = "single"
    version: str = single_program.VERSION
    needs_tools: bool = False

    def command(self) -> tuple[str, ...]:
        """The program, isolated from whatever lies in the workspace."""
        options = ("--url", MODEL_URL, "--workspace", WORKSPACE_PLACE)
        return ("python3", "-I", "-B", f"{EXCHANGE_PLACE}/{_PROGRAM}", PROMPT_PLACE, *options)

    def files(self) -> Mapping[str, bytes]:
        """The program and its modules in one archive that Python runs."""
        return {_PROGRAM: packed_program()}

    def finished(self, events: Sequence[AgentEvent]) -> bool | None:
        """Whether the reply was whole."""
        ends = [event.data for event in events if event.data.get("event") == "end"]
        return ends[-1].get("reason") == "finish" if ends else None


def packed_program() -> bytes:
    """The archive: equal bytes for equal modules."""
    home = Path(pytest_agentgrade.__file__).parent
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py"), _MAIN)
        for module in _MODULES:
            entry = zipfile.ZipInfo(f"{home.name}/{module}.py")
            archive.writestr(entry, (home / f"{module}.py").read_bytes())
    return buffer.getvalue()
