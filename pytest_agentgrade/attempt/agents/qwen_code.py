"""The agent Qwen Code (npm ``@qwen-code/qwen-code``)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_agentgrade.attempt.agents.base import EXCHANGE_PLACE, MODEL_URL, PROMPT_PLACE, AgentEvent
from pytest_agentgrade.attempt.agents.packaged import PackagedAgent
from pytest_agentgrade.attempt.agents.packages import AGENT_PATH, PLACE

_SETTINGS = "qwen-settings.json"
_SCRIPT = f"""
mkdir -p "$HOME/.qwen"
cp {EXCHANGE_PLACE}/{_SETTINGS} "$HOME/.qwen/settings.json"
exec /{PLACE}/bin/node /{PLACE}/node_modules/@qwen-code/qwen-code/cli.js --auth-type openai --yolo \
    --output-format stream-json < {PROMPT_PLACE}
"""


@dataclass(frozen=True)
class QwenCode(PackagedAgent):
    """``qwen`` on the prompt, its JSON events on stdout."""

    name = "qwen-code"
    adapter = 2
    home_bytes = 256 << 20
    kept = (".qwen/projects/*", ".qwen/tmp/*", ".qwen/debug/*")
    marks = (
        "You are the component that summarizes internal chat history",
        "Generate a concise, sentence-case title",
        "Generate a short kebab-case name",
        "Write a short summary label describing what these tool calls accomplished",
        "You generate session recaps",
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
