"""From the run's settings to the server of a mode."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_agentgrade.assignment.layers import DEMO_MODEL
from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.assignment.secrets import without_secrets
from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.attempt.server import RunningServer, ServerConfig
from pytest_agentgrade.attempt.server.command import server_command
from pytest_agentgrade.attempt.server.running import answers, context_of, read_props
from pytest_agentgrade.demo import demo_model_path, is_demo
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.records.host import describe_gpus
from pytest_agentgrade.records.model import ModeDeclaration, ServerPhase


def server_config(settings: Settings) -> ServerConfig:
    """What all modes of a run share."""
    model = demo_model_path() if settings.model == DEMO_MODEL else Path(settings.model)
    return ServerConfig(
        server=settings.server,
        model=model,
        context=settings.context,
        # So small a model loses more by waiting for a second thread than it gains, most of all on a busy machine.
        threads=1 if settings.model == DEMO_MODEL else None,
        args=tuple(settings.server_args),
        start_timeout=settings.server_seconds,
    )


def check_server(settings: Settings, mode: Mode) -> None:
    """SettingsError for a mode whose server, model or flags cannot work; nothing is started."""
    server_command(mode, server_config(settings))


def check_context(tokens: int, context: int | None, where: str) -> None:
    """SettingsError when a response of ``tokens`` leaves no room for its prompt in what the server says it has."""
    if context is not None and tokens >= context:
        what = f"response_tokens = {tokens} leaves no room for a prompt: {where} has a context of {context} tokens"
        raise SettingsError(what, f"write response_tokens = {context // 4}, for example, or give the server more")


def check_running_servers(settings: Settings, modes: Iterable[Mode]) -> None:
    """SettingsError when a server that runs already, as far as it answers now, has too small a context."""
    config = server_config(settings)
    for mode in modes:
        command = server_command(mode, config)
        if command.url and answers(command.url, command.key):
            context = context_of(read_props(command.url, command.key))
            check_context(max(settings.response_tokens), context, f"the server at {command.url} (mode {mode.name})")


def server_phase(server: RunningServer, mode: Mode, seconds: float, served_before: int = 0) -> ServerPhase:
    """The record of a server that is ready."""
    info = server.info
    return ServerPhase(
        kind=info.kind.value,
        build=info.build,
        argv=without_secrets(info.argv),
        omitted=list(info.omitted),
        url=server.url,
        model=info.model_path,
        model_sha256=info.model_sha256 or None,
        context=info.context,
        props_digest=info.props_digest,
        speculative=info.speculative,
        supports_tools=server.supports_tools,
        demo=is_demo(Path(info.model_path)) if info.model_path else False,
        gpus=describe_gpus(),
        declared=ModeDeclaration(server_args=without_secrets(mode.server_args), model=mode.model, server=mode.server),
        served_before=served_before,
        environment=None if info.environment is None else dict(info.environment),
        program_sha256=info.program_sha256 or None,
        seconds=seconds,
    )
