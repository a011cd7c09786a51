"""The agent OpenCode (npm ``opencode-ai``), set up to talk to the proxy only and to leave nothing to chance."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.attempt.agents.base import (
    EXCHANGE_PLACE,
    HOME_PLACE,
    MODEL_URL,
    PROMPT_PLACE,
    AgentBase,
    AgentEvent,
    AgentNeeds,
    message_text,
)
from pytest_agentgrade.attempt.agents.packages import AGENT_PATH, PACKAGES, PLACE

_PACKAGE = PACKAGES["opencode"]
_CONFIG = "opencode.json"
_ADAPTER = 1
"""Raise it whenever flags or configuration change."""
_SWITCHES = (
    "AUTOUPDATE", "MODELS_FETCH", "DEFAULT_PLUGINS", "LSP_DOWNLOAD", "PROJECT_CONFIG", "CLAUDE_CODE",
    "EXTERNAL_SKILLS", "SHARE",
)  # fmt: skip
_AUXILIARY = ("You are a title generator", "Summarize what was done in this conversation")
"""How its own prompts for such requests begin."""
_SCRIPT = f"""
mkdir -p "$HOME/.config/opencode" "$HOME/.cache/opencode" "$HOME/.local/share/opencode" "$HOME/.local/state/opencode"
exec /{PLACE}/bin/opencode run --format json --model local/local --title task < {PROMPT_PLACE}
"""


@dataclass(frozen=True)
class OpenCode(AgentBase):
    """``opencode run`` on the prompt, its JSON events on stdout."""

    context: int
    """Tokens of context it is told the model has."""
    response_tokens: int
    """Tokens it is told a response may have."""
    image: str | None = None
    """An image with ``/opt/agent/bin/opencode`` in place of the one made here."""
    name: str = "opencode"
    needs_tools: bool = True

    @classmethod
    def from_settings(cls, settings: Settings) -> OpenCode:
        """As the run is set up; the largest response budget where there are several."""
        return cls(settings.context, max(settings.response_tokens), settings.agent_image)

    @property
    def version(self) -> str:
        """OpenCode's own version - the image's name, where it was given - and the adapter's."""
        return f"{self.image or _PACKAGE.version}+{_ADAPTER}"

    @property
    def needs(self) -> AgentNeeds:
        """Its image, more memory than others, a HOME of its own of which logs and session are kept."""
        kept = (".local/share/opencode/log/*", ".local/share/opencode/storage/*", ".local/share/opencode/*.db*")
        return AgentNeeds(
            image=self.image or _PACKAGE.tag,
            image_hint="" if self.image else _PACKAGE.hint,
            memory_bytes=1_536 << 20,
            home_bytes=512 << 20,
            kept=kept,
        )

    def command(self) -> tuple[str, ...]:
        """Its folders first: it does not start without them on a HOME that is new."""
        return ("sh", "-c", _SCRIPT)

    def files(self) -> Mapping[str, bytes]:
        """Its configuration."""
        return {_CONFIG: json.dumps(self._config(), indent=1).encode()}

    def env(self) -> Mapping[str, str]:
        """Everything off that would reach for the network."""
        switches = {f"OPENCODE_DISABLE_{name}": "1" for name in _SWITCHES}
        places = {"OPENCODE_CONFIG": f"{EXCHANGE_PLACE}/{_CONFIG}", "XDG_CACHE_HOME": f"{HOME_PLACE}/.cache"}
        return {**switches, **places, "PATH": AGENT_PATH, "BUN_RUNTIME_TRANSPILER_CACHE_PATH": "0", "NO_COLOR": "1"}

    def finished(self, events: Sequence[AgentEvent]) -> bool | None:
        """Whether its last step ended with ``stop``."""
        steps = [event.data for event in events if event.data.get("type") == "step_finish"]
        return None if not steps else '"reason": "stop"' in str(steps[-1].get("part", ""))

    def is_auxiliary(self, request: Mapping[str, Any]) -> bool:
        """Titles and summaries: switched off, and recognised should a version make them nevertheless."""
        first = next(iter(request["messages"]), None)
        text = message_text(first) if isinstance(first, Mapping) else ""
        return text.lstrip().startswith(_AUXILIARY)

    def _config(self) -> dict[str, Any]:
        limit = {"context": self.context, "output": self.response_tokens}
        model = {"name": "local", "tool_call": True, "limit": limit, "cost": {"input": 0, "output": 0}}
        options = {"baseURL": MODEL_URL, "apiKey": "none", "timeout": False}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "local", "options": options, "models": {"local": model}}
        return {
            "autoupdate": False, "share": "disabled", "snapshot": False, "lsp": False, "formatter": False,
            # With it on, a prompt that is too long is summarised and asked again for ever.
            "compaction": {"auto": False, "prune": False},
            "model": "local/local", "small_model": "local/local", "enabled_providers": ["local"],
            "provider": {"local": provider},
            "agent": {"title": {"disable": True}},
            # Never `ask`: nobody answers, and a question that is refused ends the run as if it were done.
            "permission": {
                "edit": "allow", "bash": "allow", "doom_loop": "allow", "webfetch": "deny",
                "external_directory": "deny",
            },
        }  # fmt: skip
