"""The agent mini-swe-agent (PyPI): one bash tool, replies that are not streamed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.attempt.agents.base import MODEL_URL, PROMPT_PLACE, AgentBase, AgentNeeds
from pytest_agentgrade.attempt.agents.packages import PACKAGES, PYTHON_START

_PACKAGE = PACKAGES["mini-swe-agent"]
_ADAPTER = 1
"""Raise it whenever flags or configuration change."""
_SCRIPT = f"""
exec python3 -I -c '{PYTHON_START}
sys.argv[0] = "mini"
from minisweagent.run.mini import app
app()' -y --exit-immediately -l 0 -m openai/local -o "$HOME/trajectory.json" -t "$(cat {PROMPT_PLACE})" \
    -c mini.yaml -c model.model_kwargs.api_base={MODEL_URL}
"""


@dataclass(frozen=True)
class MiniSweAgent(AgentBase):
    """``mini`` on the prompt, without a limit or a question of its own."""

    image: str | None = None
    """An image with the package below ``/opt/agent/lib`` in place of the one made here."""
    name: str = "mini-swe-agent"
    needs_tools: bool = True

    @classmethod
    def from_settings(cls, settings: Settings) -> MiniSweAgent:
        """With the image of the settings."""
        return cls(settings.agent_image)

    @property
    def version(self) -> str:
        """The package's version - the image's name, where it was given - and the adapter's."""
        return f"{self.image or _PACKAGE.version}+{_ADAPTER}"

    @property
    def needs(self) -> AgentNeeds:
        """Its image; its trajectory is kept."""
        return AgentNeeds(
            image=self.image or _PACKAGE.tag,
            image_hint="" if self.image else _PACKAGE.hint,
            home_bytes=128 << 20,
            kept=("trajectory.json",),
        )

    def command(self) -> tuple[str, ...]:
        """By a shell, as the prompt is an argument."""
        return ("sh", "-c", _SCRIPT)

    def env(self) -> Mapping[str, str]:
        """No setup dialogue, no price list from the network, no patience of hours with a server in trouble."""
        return {
            "MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors", "MSWEA_SILENT_STARTUP": "1",
            "MSWEA_GLOBAL_CONFIG_DIR": "/home/agent/.config/mini", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "OPENAI_API_KEY": "none",
        }  # fmt: skip
