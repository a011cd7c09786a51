"""What tells two servers of the same version and flags apart: the program, and what its environment asks of it."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_agentgrade.assignment.secrets import HIDDEN, is_secret_variable
from pytest_agentgrade.attempt.server.command import file_sha256
from pytest_agentgrade.attempt.server.config import ServerKind
from pytest_agentgrade.escaping import escape

PREFIXES = ("LLAMA_", "GGML_", "CUDA_", "HIP_", "OMP_")
"""Of variables that change how llama.cpp computes; no others are looked at."""
_CHARACTERS = 1_000


def told_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Those variables of a server's environment, escaped, in alphabetical order; values that are keys are hidden."""
    return {
        escape(name, 100): HIDDEN if is_secret_variable(name) else escape(value, _CHARACTERS)
        for name, value in sorted(environment.items())
        if name.startswith(PREFIXES)
    }


def program_sha256(kind: ServerKind, argv: Sequence[str]) -> str:
    """SHA-256 of the server's binary, or of ``xllamacpp``'s library; empty for a URL and for what cannot be read."""
    program = _library() if kind is ServerKind.EMBEDDED else Path(argv[0]) if argv else None
    try:
        return file_sha256(program) if program is not None else ""
    except OSError:
        # A program may be one that this user can run and not read.
        return ""


def _library() -> Path | None:
    """The one extension module of the package; found without importing it, since it starts threads."""
    spec = importlib.util.find_spec("xllamacpp")
    folders = spec.submodule_search_locations if spec is not None else None
    return next((file for folder in folders or () for file in sorted(Path(folder).glob("*.so"))), None)
