"""Launch a mode's server, wait until it is ready, and stop it whatever happens."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.attempt.server.command import ServerCommand, file_sha256, server_command
from pytest_agentgrade.attempt.server.config import ServerConfig, ServerInfo, ServerKind
from pytest_agentgrade.attempt.server.identity import program_sha256, told_environment
from pytest_agentgrade.attempt.server.process import WatchedProcess, log_tail
from pytest_agentgrade.attempt.server.running import (
    RunningServer,
    answers,
    context_of,
    listens,
    read_props,
    slots_speculative,
)
from pytest_agentgrade.errors import HostError
from pytest_agentgrade.escaping import escape
from pytest_agentgrade.waiting import Waiting, held

_VOLATILE_PROPS = frozenset({"media_marker", "is_sleeping", "model_path", "model_alias"})
"""Entries of ``/props`` that differ between two starts of the same server, or only name a place."""
_SILENT_SECONDS = 10.0
"""How long a URL at which nothing answers at all is waited for."""
_USUAL_START_SECONDS = 10.0
"""A server of ours is expected to take so long: nobody needs to be told."""
_PORT_TAKEN = "couldn't bind HTTP server socket"


@contextmanager
def launch(
    mode: Mode,
    config: ServerConfig,
    *,
    log_path: Path,
    lock_dir: Path,
    device: str = "0",
    watch: Callable[[int], None] | None = None,
    say: Callable[[str], None] = print,
) -> Iterator[RunningServer]:
    """Serve ``mode``: SettingsError for what cannot work, HostError for a server that does not come up.

    One launched server at a time for each ``device`` (and one user at a time for each URL) among all processes that
    share ``lock_dir``. ``watch`` gets the process id as soon as there is one, ``say`` a line now and then while
    something is waited for. The server's output goes to ``log_path``. Whatever ends this block, or this process, ends
    the server.
    """
    command = server_command(mode, config)
    lock_dir.mkdir(parents=True, exist_ok=True)
    resource, waiting = command.url or f"device {device}", Waiting(say)
    with held(lock_dir / _lock_name(resource), f"uses {resource}", waiting, timeout=config.lock_timeout):
        if command.kind is ServerKind.URL:
            yield _connect(command, config, waiting)
            return
        process, url = _start(command, config, log_path, watch, waiting)
        try:
            yield _describe(command, url, process, _environment(config))
        finally:
            process.stop()


def _lock_name(resource: str) -> str:
    return f"server-{hashlib.sha256(resource.encode()).hexdigest()[:12]}.lock"


def _connect(command: ServerCommand, config: ServerConfig, waiting: Waiting) -> RunningServer:
    """A server that loads its model answers "not ready" for as long as one that we launch may take."""
    started = time.monotonic()
    while not answers(command.url, command.key):
        loads = listens(command.url, command.key)
        patience = config.start_timeout if loads else min(_SILENT_SECONDS, config.start_timeout)
        if time.monotonic() > started + patience:
            hint = "start it, or check the URL"
            raise HostError(f"no server answers at {command.url} within {patience:.0f} s", hint)
        state = "loads its model" if loads else "does not answer"
        _tell(waiting, f"the server at {command.url} {state}", started, patience)
        time.sleep(0.25)
    return _describe(command, command.url, None)


def _start(
    command: ServerCommand,
    config: ServerConfig,
    log_path: Path,
    watch: Callable[[int], None] | None,
    waiting: Waiting,
) -> tuple[WatchedProcess, str]:
    """Start and wait; once more with another port when somebody else took the first one in between."""
    log_path.parent.mkdir(parents=True, exist_ok=True)
    for last_try in (False, True):
        log_path.unlink(missing_ok=True)
        port = _free_port()
        process = WatchedProcess(command.launched_at(port), log_path, _environment(config))
        url = f"http://127.0.0.1:{port}"
        try:
            if watch is not None:
                watch(process.pid)
            if _wait_ready(process, url, config.start_timeout, waiting):
                return process, url
            if last_try or _PORT_TAKEN not in log_tail(log_path, 50):
                raise _did_not_start(process, command)
        except BaseException:
            process.stop()
            raise
    raise AssertionError("unreachable")


def _wait_ready(process: WatchedProcess, url: str, timeout: float, waiting: Waiting) -> bool:
    """True when the server is ready, False when its process ended; HostError when neither happens in time."""
    started = time.monotonic()
    pause = 0.02
    while not process.ended.wait(pause):
        if answers(url):
            # An answer may come from another server that took the port: then ours has ended, or is about to.
            return not process.ended.wait(0.02)
        if time.monotonic() > started + timeout:
            tail = process.log_tail()
            raise HostError(f"the server was not ready within {timeout:.0f} s; its last lines:\n{tail}")
        if time.monotonic() > started + _USUAL_START_SECONDS:
            _tell(waiting, "the server loads its model", started, timeout)
        pause = min(pause * 1.5, 0.25)
    return False


def _tell(waiting: Waiting, what: str, started: float, patience: float) -> None:
    waiting.still(lambda: f"{what} ({time.monotonic() - started:.0f} s of at most {patience:.0f} s)")


def _did_not_start(process: WatchedProcess, command: ServerCommand) -> HostError:
    status = process.exit_status() or 0
    how = f"was killed by signal {-status}" if status < 0 else f"ended with exit code {status}"
    return HostError(f"the server {command.argv[0]} {how} before it was ready; its last lines:\n{process.log_tail()}")


def _describe(
    command: ServerCommand, url: str, process: WatchedProcess | None, environment: Mapping[str, str] | None = None
) -> RunningServer:
    props = read_props(url, command.key)
    info = ServerInfo(
        kind=command.kind,
        build=command.build or escape(str(props.get("build_info", "")), 200),
        argv=command.launched_at(int(url.rsplit(":", 1)[1])) if process is not None else (),
        omitted=command.omitted,
        model_path=str(command.model) if command.model else escape(str(props.get("model_path", "")), 500),
        model_sha256=file_sha256(command.model) if command.model else "",
        context=context_of(props),
        props_digest=_props_digest(props),
        speculative=slots_speculative(url, command.key),
        environment=None if environment is None else told_environment(environment),
        program_sha256=program_sha256(command.kind, command.argv),
    )
    return RunningServer(url, info, props, process, command.key)


def _props_digest(props: dict[str, Any]) -> str:
    if not props:
        return ""
    steady = {name: value for name, value in props.items() if name not in _VOLATILE_PROPS}
    return hashlib.sha256(json.dumps(steady, sort_keys=True).encode()).hexdigest()


def _environment(config: ServerConfig) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LLAMA_ARG_")}
    return inherited | dict(config.env)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
