"""The agent OpenCode (npm ``opencode-ai``), set up to talk to the proxy only and to leave nothing to chance."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_agentgrade.attempt.agents.base import EXCHANGE_PLACE, HOME_PLACE, MODEL_URL, PROMPT_PLACE, AgentEvent
from pytest_agentgrade.attempt.agents.packaged import PackagedAgent
from pytest_agentgrade.attempt.agents.packages import AGENT_PATH, PLACE

_CONFIG = "opencode.json"
_SWITCHES = (
    "AUTOUPDATE", "MODELS_FETCH", "DEFAULT_PLUGINS", "LSP_DOWNLOAD", "PROJECT_CONFIG", "CLAUDE_CODE",
    "EXTERNAL_SKILLS", "SHARE",
)  # fmt: skip
_SCRIPT = f"""
mkdir -p "$HOME/.config/opencode" "$HOME/.cache/opencode" "$HOME/.local/share/opencode" "$HOME/.local/state/opencode"
exec /{PLACE}/bin/opencode run --format json --model local/local --title task < {PROMPT_PLACE}
"""


@dataclass(frozen=True)
class OpenCode(PackagedAgent):
    """``opencode run`` on the prompt, its JSON events on stdout."""

    name = "opencode"
    adapter = 2
    memory_bytes = 1_536 << 20
    home_bytes = 512 << 20
    kept = (".local/share/opencode/log/*", ".local/share/opencode/storage/*", ".local/share/opencode/*.db*")
    # All of these are switched off, and recognised should a version make them nevertheless.
    marks = (
        "You are a title generator",
        "Summarize what was done in this conversation",
        "You are a context summarization agent",
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
