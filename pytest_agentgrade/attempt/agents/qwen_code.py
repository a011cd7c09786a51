"""The agent Qwen Code (npm ``@qwen-code/qwen-code``)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.attempt.agents.base import (
    EXCHANGE_PLACE,
    MODEL_URL,
    PROMPT_PLACE,
    AgentBase,
    AgentEvent,
    AgentNeeds,
)
from pytest_agentgrade.attempt.agents.packages import AGENT_PATH, PACKAGES, PLACE

_PACKAGE = PACKAGES["qwen-code"]
_ADAPTER = 1
"""Raise it whenever flags or configuration change."""
_SETTINGS = "qwen-settings.json"
_SCRIPT = f"""
mkdir -p "$HOME/.qwen"
cp {EXCHANGE_PLACE}/{_SETTINGS} "$HOME/.qwen/settings.json"
exec /{PLACE}/bin/node /{PLACE}/node_modules/@qwen-code/qwen-code/cli.js --auth-type openai --yolo \
    --output-format stream-json < {PROMPT_PLACE}
"""


@dataclass(frozen=True)
class QwenCode(AgentBase):
    """``qwen`` on the prompt, its JSON events on stdout."""

    image: str | None = None
    """An image with node and the package below ``/opt/agent`` in place of the one made here."""
    name: str = "qwen-code"
    needs_tools: bool = True

    @classmethod
    def from_settings(cls, settings: Settings) -> QwenCode:
        """With the image of the settings."""
        return cls(settings.agent_image)

    @property
    def version(self) -> str:
        """The package's version - the image's name, where it was given - and the adapter's."""
        return f"{self.image or _PACKAGE.version}+{_ADAPTER}"

    @property
    def needs(self) -> AgentNeeds:
        """Its image; its session and logs are kept."""
        return AgentNeeds(
            image=self.image or _PACKAGE.tag,
            image_hint="" if self.image else _PACKAGE.hint,
            home_bytes=256 << 20,
            kept=(".qwen/projects/*", ".qwen/tmp/*", ".qwen/debug/*"),
        )

    def command(self) -> tuple[str, ...]:
        """By a shell, which puts its settings into HOME."""
        return ("sh", "-c", _SCRIPT)

    def files(self) -> Mapping[str, bytes]:
        """Nothing is sent to anybody, nothing is updated."""
        settings = {
            "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
        }
        return {_SETTINGS: json.dumps(settings).encode()}

    def env(self) -> Mapping[str, str]:
        """The way to the model."""
        return {
            "OPENAI_BASE_URL": MODEL_URL, "OPENAI_API_KEY": "none", "OPENAI_MODEL": "local", "NO_COLOR": "1",
            "PATH": AGENT_PATH,
        }  # fmt: skip

    def finished(self, events: Sequence[AgentEvent]) -> bool | None:
        """Not, if its result is an error; ``success`` tells nothing, as it comes with replies that were cut as well."""
        results = [event.data for event in events if event.data.get("type") == "result"]
        return False if results and "API Error" in str(results[-1].get("result", "")) else None
