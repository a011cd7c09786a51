"""A mode: a named way to serve a model."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_agentgrade.errors import SettingsError

_NAME = re.compile(r"[a-z0-9_.]+")


@dataclass(frozen=True)
class Mode:
    """How the model is served; what a mode declares here is all that may differ within a pair."""

    name: str
    """``[a-z0-9_.]+``; part of node ids, file names and records."""
    server_args: tuple[str, ...] = ()
    """llama-server flags of this mode, added behind the common ones."""
    model: str | None = None
    """Path of a GGUF file, when the mode brings its own; else the run's model."""
    server: str | None = None
    """``embedded``, a path to a llama-server binary, or an http URL, when the mode brings its own."""
    speculates: bool | None = None
    """Whether drafts must be seen (True), must not (False), or are not checked (None)."""
    lossless: bool = True
    """Whether the mode claims to keep the model's output distribution (speculative decoding does)."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise SettingsError(f"mode name {self.name!r} is not made of a-z, 0-9, '_' and '.'", "rename the mode")
