"""The agent ``command``: any program, told by the settings how to call it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_agentgrade.assignment.secrets import hidden_settings, without_secrets
from pytest_agentgrade.assignment.settings import Settings, suggest
from pytest_agentgrade.attempt.agents.base import MODEL_URL, PROMPT_PLACE, WORKSPACE_PLACE, AgentBase, AgentNeeds
from pytest_agentgrade.errors import SettingsError

PLACEHOLDERS: Mapping[str, str] = {
    "endpoint": MODEL_URL,
    "model": "local",
    "prompt_file": PROMPT_PLACE,
    "workspace": WORKSPACE_PLACE,
}
"""What ``{name}`` in the settings stands for."""
HOME_BYTES = 256 << 20
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(\w+)\}")


@dataclass(frozen=True)
class CommandAgent(AgentBase):
    """Runs ``words`` in the workspace; its HOME is its own and its files stay there."""

    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    needs_tools: bool = False
    name: str = "command"

    @classmethod
    def from_settings(cls, settings: Settings) -> CommandAgent:
        """Raises SettingsError without a command, or for a placeholder there is not."""
        if not settings.agent_command:
            example = 'agent_command = ["my-agent", "--url={endpoint}", "--model={model}", "{prompt_file}"]'
            raise SettingsError("agent = 'command' needs the setting agent_command", f"for example {example}")
        words = tuple(fill(word, "agent_command") for word in settings.agent_command)
        environment = {name: fill(value, f"agent_env.{name}") for name, value in settings.agent_env.items()}
        return cls(words, environment, settings.agent_image, settings.agent_tools)

    @property
    def version(self) -> str:
        """The command itself, without keys, which is stored and shown: another command is another agent."""
        shown = " ".join(without_secrets(self.words))
        environment = hidden_settings({"agent_env": self.environment})["agent_env"]
        return f"{shown} {sorted(environment.items())}" if environment else shown

    @property
    def needs(self) -> AgentNeeds:
        """The image of the settings."""
        return AgentNeeds(image=self.image, home_bytes=HOME_BYTES)

    def command(self) -> tuple[str, ...]:
        """As the settings say."""
        return self.words

    def env(self) -> Mapping[str, str]:
        """As the settings say."""
        return self.environment


def fill(text: str, where: str) -> str:
    """``text`` with its placeholders filled in; ``{{`` and ``}}`` are braces. SettingsError for an unknown one."""

    def value(match: re.Match[str]) -> str:
        if (name := match[1]) is None:
            return match[0][0]
        if name not in PLACEHOLDERS:
            raise SettingsError(f"{where}: unknown placeholder {{{name}}}", suggest(name, PLACEHOLDERS))
        return PLACEHOLDERS[name]

    return _PLACEHOLDER.sub(value, text)
