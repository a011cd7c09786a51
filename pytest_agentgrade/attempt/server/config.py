"""What to serve a model with, and what a running server turned out to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NamedTuple

EMBEDDED = "embedded"
"""The value of ``server`` that means: llama.cpp's own server inside a Python process of ours (``xllamacpp``)."""


class ServerKind(Enum):
    """Three ways to get a server."""

    EMBEDDED = "embedded"
    BINARY = "binary"
    URL = "url"


@dataclass(frozen=True)
class ServerConfig:
    """What all modes of a run share; a mode may bring its own ``server`` and ``model``."""

    server: str = EMBEDDED
    """``embedded``, a path to (or name of) a llama-server binary, or an http(s) URL of a server that runs already."""
    model: Path | None = None
    """The GGUF file; needed unless the server is a URL."""
    alias: str = ""
    """The name the server gives the model; empty: its own choice."""
    context: int = 32_768
    """Tokens of context (``-c``)."""
    threads: int | None = None
    """Threads of generation (``-t``); None: the server's default."""
    args: tuple[str, ...] = ()
    """More flags for every mode, in front of the mode's own."""
    start_timeout: float = 120.0
    """Seconds until a server must be ready (a large model needs more)."""
    lock_timeout: float = 7_200.0
    """Seconds to wait for another run that holds the device."""
    env: tuple[tuple[str, str], ...] = ()
    """Environment variables added to the inherited ones (of those, ``LLAMA_ARG_*`` are dropped: hidden flags)."""


class DraftCounters(NamedTuple):
    """Totals since the server started, from ``/metrics``."""

    drafted: int
    """Draft tokens made."""
    accepted: int
    """Draft tokens the model agreed with."""
    steps: int
    """Verification steps."""
    accepted_at: tuple[int, ...] = ()
    """Accepted draft tokens by their position in the draft, the first position first; empty where it is not told."""

    def since(self, before: DraftCounters) -> DraftCounters:
        """What was added after ``before`` was read."""
        earlier = (*before.accepted_at, *[0] * len(self.accepted_at))
        added = tuple(now - then for now, then in zip(self.accepted_at, earlier, strict=False))
        return DraftCounters(
            self.drafted - before.drafted, self.accepted - before.accepted, self.steps - before.steps, added
        )


@dataclass(frozen=True)
class ServerInfo:
    """What can differ between two servers of the same name; goes into the record."""

    kind: ServerKind
    build: str
    """Version text of the binary, ``xllamacpp`` version, or what a URL says of itself; may be empty."""
    argv: tuple[str, ...]
    """The command as launched; empty for a URL."""
    omitted: tuple[str, ...]
    """Flags for repeatability that this build does not know and that were left out."""
    model_path: str
    """As the server was told (or says, for a URL); may be empty."""
    model_sha256: str
    """Of the file that was served; empty for a URL."""
    context: int | None
    """Tokens each request may use, as the server says; None when it does not say."""
    props_digest: str
    """SHA-256 of ``/props`` without what changes at every start; empty when there is no such page."""
    speculative: bool | None
    """What ``/slots`` says about speculation right after the start; None when it does not say."""
    environment: Mapping[str, str] | None = None
    """Variables of the launched process that change how it computes; None for a URL."""
    program_sha256: str = ""
    """Of the binary, or of the library of the embedded server; empty for a URL."""
