"""Presets: experiments that were published, as a layer of settings between the defaults and the user's file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pytest_agentgrade.assignment.layers import Layer
from pytest_agentgrade.assignment.settings import BUILT_IN_MODES, DEFAULT_SOURCE, Resolved, suggest
from pytest_agentgrade.errors import SettingsError


@dataclass(frozen=True)
class Preset:
    """One published experiment."""

    name: str
    modes: tuple[str, ...]
    """What it compares, unless ``--agent-mode`` says otherwise."""
    values: Mapping[str, Any]
    model: str
    """The model it was made with; the user names the file."""
    server: str
    agent: str
    """The agent it was made with."""
    agent_version: str

    @property
    def layer(self) -> Layer:
        """Its settings; their source is shown as ``preset NAME``."""
        return Layer(f"preset {self.name}", self.values)

    def notes(self, resolved: Resolved, agent_version: str) -> list[str]:
        """In what a run with these settings is not the published experiment; one sentence each.

        ``agent_version`` is that of the agent this run uses.
        """
        settings = resolved.settings
        notes = [f"preset {self.name} was published with {self.model} on {self.server}, agent {self.agent}"]
        if settings.agent == self.values["agent"]:
            if agent_version.partition("+")[0] != self.agent_version:
                notes.append(f"this run's {settings.agent} is {agent_version}: another version is another agent")
        else:
            notes.append(f"this run's agent is {settings.agent}: its figures do not repeat the published ones")
        changed = [name for name in self.values if resolved.sources[name] != self.layer.source]
        if changed:
            notes.append(f"changed from the preset: {', '.join(changed)}")
        return notes

    def require_model(self, resolved: Resolved) -> None:
        """SettingsError when no model was named: the embedded demo model would be served with the study's flags."""
        if resolved.sources["model"] == DEFAULT_SOURCE and resolved.settings.server == "embedded":
            what = f"preset {self.name} needs a model file: it was made with {self.model}"
            raise SettingsError(what, "name the file with --agent-model=GGUF")


_STUDY_2026_10 = Preset(
    name="study-2026-10",
    modes=("baseline", "mtp"),
    values=MappingProxyType({
        "modes": {name: dict(table) for name, table in BUILT_IN_MODES.items()},
        "seeds": [4242, 8675309],
        "repeats": 1,
        "order": "by-seed",
        "context": 131_072,
        "server_args": [
            "-ngl", "99", "-ctk", "q8_0", "-ctv", "q8_0", "-fa", "on", "-b", "512", "-ub", "256",
        ],
        "sampling": {"temperature": 1.0, "top_p": 0.95, "top_k": 20, "min_p": 0.0},
        "thinking": "medium",
        "response_tokens": [8192],
        "task_seconds": 480.0,
        "abort_loops": False,
        "agent": "opencode",
    }),
    model="Qwen3.8-27B, Q4_K_M",
    server="llama.cpp b11146, one RTX 3090",
    agent="OpenCode 2.0.20",
    agent_version="2.0.20",
)  # fmt: skip
"""Test of 2 October 2026: does multi-token prediction make a local agent deliver working patches sooner?

``-np 1`` and a cache that keeps nothing are not listed: every server is launched so. The order of the two modes was
the same for all tasks and reversed for the second seed, which is what ``by-seed`` does.
"""

PRESETS: Mapping[str, Preset] = MappingProxyType({preset.name: preset for preset in (_STUDY_2026_10,)})


def find_preset(name: str) -> Preset:
    """The preset of that name; SettingsError with a suggestion for any other name."""
    if name not in PRESETS:
        raise SettingsError(f"unknown preset {name!r}", suggest(name, PRESETS))
    return PRESETS[name]
