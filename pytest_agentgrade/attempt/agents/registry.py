"""The built-in agents by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pytest_agentgrade.assignment.settings import Settings, suggest
from pytest_agentgrade.attempt.agents.aider import Aider
from pytest_agentgrade.attempt.agents.base import Agent
from pytest_agentgrade.attempt.agents.command import CommandAgent
from pytest_agentgrade.attempt.agents.mini_swe_agent import MiniSweAgent
from pytest_agentgrade.attempt.agents.opencode import OpenCode
from pytest_agentgrade.attempt.agents.packages import check_version
from pytest_agentgrade.attempt.agents.qwen_code import QwenCode
from pytest_agentgrade.attempt.agents.single import Single
from pytest_agentgrade.attempt.agents.toolloop import ToolLoop
from pytest_agentgrade.errors import SettingsError

BUILT_IN: Mapping[str, Callable[[Settings], Agent]] = MappingProxyType(
    {
        "toolloop": lambda _settings: ToolLoop(),
        "single": lambda _settings: Single(),
        "command": CommandAgent.from_settings,
        "opencode": OpenCode.from_settings,
        "mini-swe-agent": MiniSweAgent.from_settings,
        "aider": Aider.from_settings,
        "qwen-code": QwenCode.from_settings,
    }
)
"""Agent's name -> how it is made of the settings."""


def make_agent(name: str, settings: Settings) -> Agent | None:
    """The built-in agent of that name, or None. SettingsError when its settings cannot be used."""
    make = BUILT_IN.get(name)
    if make is None:
        return None
    check_version(settings)
    return make(settings)


def unknown_agent(name: str) -> SettingsError:
    """What to raise when no plugin knows the agent either."""
    return SettingsError(f"unknown agent {name!r}", f"{suggest(name, BUILT_IN)} (plugins may bring more)")
