"""The command line of a mode's server: checked completely before anything starts."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import shutil
import sys
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.assignment.secrets import without_secrets
from pytest_agentgrade.attempt.server import embedded_flags, flags
from pytest_agentgrade.attempt.server.api_key import key_of_flags, key_of_url
from pytest_agentgrade.attempt.server.config import EMBEDDED, ServerConfig, ServerKind
from pytest_agentgrade.attempt.server.embedded_library import require_library
from pytest_agentgrade.errors import SettingsError

_GGUF = b"GGUF"
"""The first bytes of a model file."""
_EMBEDDED_MODULE = "pytest_agentgrade.attempt.server.embedded"


@dataclass(frozen=True)
class ServerCommand:
    """How to get a mode's server."""

    kind: ServerKind
    url: str
    """Of a server that runs already; empty for one to be launched."""
    argv: tuple[str, ...]
    """To launch, without host and port; empty for a URL."""
    omitted: tuple[str, ...]
    """Flags for repeatability that were left out."""
    build: str
    model: Path | None
    """None for a URL."""
    key: str = field(default="", repr=False)
    """What requests have to show; nothing where the server asks for nothing."""

    def launched_at(self, port: int) -> tuple[str, ...]:
        """The complete command for a server on this port of the loopback address."""
        return (*self.argv, "--host", "127.0.0.1", "--port", str(port))


def server_command(mode: Mode, config: ServerConfig) -> ServerCommand:
    """Check mode and config against the server they name; SettingsError says what to change."""
    server = mode.server or config.server
    if urlsplit(server).scheme in ("http", "https"):
        return _url_command(mode, config, server)
    if server == EMBEDDED:
        return _embedded_command(mode, config)
    return _binary_command(mode, config, _find_binary(server))


def file_sha256(path: Path) -> str:
    """SHA-256 of a model or program; read once for each state (size, time) of the file. OSError if it cannot be."""
    state = path.stat()
    return _sha256(path, state.st_size, state.st_mtime_ns)


def _url_command(mode: Mode, config: ServerConfig, server: str) -> ServerCommand:
    if mode.server_args or config.args:
        given = " ".join(without_secrets((*config.args, *mode.server_args)))
        raise SettingsError(
            f"mode {mode.name} has the server flags '{given}', but its server {server} runs already",
            f"start it with these flags and give it a mode without any: [modes.NAME] with server = {server!r} alone",
        )
    url = server.rstrip("/").removesuffix("/v1")
    return ServerCommand(ServerKind.URL, url, (), (), "", None, key_of_url(server))


def _embedded_command(mode: Mode, config: ServerConfig) -> ServerCommand:
    require_library()
    embedded_flags.check((*config.args, *mode.server_args))
    program = (sys.executable, "-P", "-m", _EMBEDDED_MODULE)
    build = f"xllamacpp {importlib.metadata.version('xllamacpp')}"
    return _launched(ServerKind.EMBEDDED, program, embedded_flags.BY_NAME.keys(), build, mode, config)


def _binary_command(mode: Mode, config: ServerConfig, binary: Path) -> ServerCommand:
    known = flags.known_flags(binary)
    flags.refuse_unknown((*config.args, *mode.server_args), known, str(binary))
    return _launched(ServerKind.BINARY, (str(binary),), known, flags.version_text(binary), mode, config)


def _launched(
    kind: ServerKind, program: tuple[str, ...], known: Collection[str], build: str, mode: Mode, config: ServerConfig
) -> ServerCommand:
    model = _find_model(mode, config)
    common, omitted = flags.repeatability_args(known)
    own: tuple[str, ...] = ("-m", str(model), "-c", str(config.context))
    if config.alias:
        own += ("-a", config.alias)
    if config.threads is not None:
        own += ("-t", str(config.threads))
    argv = (*program, *own, *common, *config.args, *mode.server_args)
    return ServerCommand(kind, "", argv, omitted, build, model, key_of_flags(argv))


def _find_model(mode: Mode, config: ServerConfig) -> Path:
    named = Path(mode.model) if mode.model is not None else config.model
    if named is None:
        raise SettingsError(f"mode {mode.name} has no model", "set 'model' to the path of a GGUF file")
    model = named.expanduser().absolute()
    if not model.is_file():
        raise SettingsError(f"the model {model} of mode {mode.name} is not a file", "set 'model' to a GGUF file")
    with model.open("rb") as file:
        if file.read(len(_GGUF)) != _GGUF:
            raise SettingsError(f"the model {model} of mode {mode.name} is no GGUF file", "set 'model' to a GGUF file")
    return model


def _find_binary(server: str) -> Path:
    found = shutil.which(str(Path(server).expanduser()))
    if found is None:
        raise SettingsError(
            f"the server {server!r} is no program that can be run",
            "give 'embedded', the path of a llama-server binary, or an http URL",
        )
    return Path(found).absolute()


@functools.lru_cache(maxsize=64)
def _sha256(path: Path, _size: int, _mtime_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
