"""The agent ``single``, seen from the host."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest_agentgrade
from pytest_agentgrade.attempt.agents import single_program
from pytest_agentgrade.attempt.agents.stdlib_program import StdlibProgram

_MODULES = (
    "__init__", "errors", "escaping", "attempt/__init__", "attempt/agents/__init__", "attempt/agents/toolloop_program",
    "attempt/agents/completion_edits", "attempt/agents/single_program", "submission/__init__", "submission/tree",
    "submission/paths", "submission/git_quoting", "submission/patch_parser", "submission/patches",
)  # fmt: skip
"""Modules of ours that the program needs; the standard library is all that they need."""
_MAIN = "from pytest_agentgrade.attempt.agents.single_program import main\nmain()\n"


@dataclass(frozen=True)
class Single(StdlibProgram):
    """Runs :mod:`single_program`."""

    name = "single"
    version = single_program.VERSION
    needs_tools = False
    program = "single.pyz"

    def files(self) -> Mapping[str, bytes]:
        """The program and its modules in one archive that Python runs."""
        return {self.program: packed_program()}


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
