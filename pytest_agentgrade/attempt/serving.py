"""From the run's settings to the server of a mode."""

from __future__ import annotations

from pathlib import Path

from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.assignment.settings import DEMO_MODEL, Settings
from pytest_agentgrade.attempt.server import RunningServer, ServerConfig
from pytest_agentgrade.attempt.server.command import server_command
from pytest_agentgrade.demo import demo_model_path, is_demo
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


def server_phase(server: RunningServer, mode: Mode, seconds: float, served_before: int = 0) -> ServerPhase:
    """The record of a server that is ready."""
    info = server.info
    return ServerPhase(
        kind=info.kind.value,
        build=info.build,
        argv=list(info.argv),
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
        declared=ModeDeclaration(server_args=list(mode.server_args), model=mode.model, server=mode.server),
        served_before=served_before,
        seconds=seconds,
    )
