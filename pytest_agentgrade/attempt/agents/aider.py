"""The agent aider (PyPI ``aider-chat``): SEARCH/REPLACE blocks in plain text, no tool calling."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.attempt.agents.base import (
    EXCHANGE_PLACE,
    MODEL_URL,
    PROMPT_PLACE,
    AgentBase,
    AgentNeeds,
    message_text,
)
from pytest_agentgrade.attempt.agents.packages import PACKAGES, PLACE

_PACKAGE = PACKAGES["aider"]
_ADAPTER = 1
"""Raise it whenever flags or configuration change."""
_METADATA = "aider-models.json"
_FLAGS = (
    "--model=openai/local", "--edit-format=diff", f"--message-file={PROMPT_PLACE}",
    f"--model-metadata-file={EXCHANGE_PLACE}/{_METADATA}", "--no-git", "--no-gitignore", "--no-auto-commits",
    "--yes-always", "--no-check-update", "--no-show-release-notes", "--analytics-disable",
    "--no-show-model-warnings", "--no-detect-urls", "--no-suggest-shell-commands", "--map-tokens=0", "--no-pretty",
    "--no-fancy-input", "--disable-playwright",
)  # fmt: skip
_PROGRAM = "aider_start.py"
_START = f"""\
import pathlib, sys
sys.path.insert(0, "/{PLACE}/lib")
log = pathlib.Path.home() / "log"
log.mkdir(exist_ok=True)
files = sorted(str(path) for path in pathlib.Path().rglob("*.py"))
logs = [f"--{{kind}}-history-file={{log}}/{{kind}}" for kind in ("chat", "input", "llm")]
sys.argv = ["aider", *{list(_FLAGS)!r}, *logs, *files]
from aider.main import main
sys.exit(main())
"""
_SUMMARY_MARK = "*Briefly* summarize this partial conversation"
_COMMIT_MARK = "You are an expert software engineer that generates concise"


@dataclass(frozen=True)
class Aider(AgentBase):
    """``aider`` on the prompt, with all Python files of the workspace in its chat."""

    context: int
    """Tokens of context it is told the model has."""
    response_tokens: int
    """Tokens it is told a response may have."""
    image: str | None = None
    """An image with the package below ``/opt/agent/lib`` in place of the one made here."""
    name: str = "aider"
    needs_tools: bool = False

    @classmethod
    def from_settings(cls, settings: Settings) -> Aider:
        """As the run is set up; the largest response budget where there are several."""
        return cls(settings.context, max(settings.response_tokens), settings.agent_image)

    @property
    def version(self) -> str:
        """The package's version - the image's name, where it was given - and the adapter's."""
        return f"{self.image or _PACKAGE.version}+{_ADAPTER}"

    @property
    def needs(self) -> AgentNeeds:
        """Its image; its chat is kept."""
        return AgentNeeds(
            image=self.image or _PACKAGE.tag,
            image_hint="" if self.image else _PACKAGE.hint,
            home_bytes=128 << 20,
            kept=("log/*",),
        )

    def command(self) -> tuple[str, ...]:
        """By a program that lists the files."""
        return ("python3", "-I", "-B", f"{EXCHANGE_PLACE}/{_PROGRAM}")

    def files(self) -> Mapping[str, bytes]:
        """That program, and what it is to know of the model."""
        entry = {
            "max_tokens": self.response_tokens, "max_output_tokens": self.response_tokens,
            "max_input_tokens": self.context, "input_cost_per_token": 0, "output_cost_per_token": 0,
            "litellm_provider": "openai", "mode": "chat",
        }  # fmt: skip
        return {_PROGRAM: _START.encode(), _METADATA: json.dumps({"openai/local": entry}).encode()}

    def env(self) -> Mapping[str, str]:
        """The way to the model; no price list from the network; its linter, which is a process of its own."""
        return {
            "OPENAI_API_BASE": MODEL_URL, "OPENAI_API_KEY": "none", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "NO_COLOR": "1", "PYTHONPATH": f"/{PLACE}/lib",
        }  # fmt: skip

    def is_auxiliary(self, request: Mapping[str, Any]) -> bool:
        """Summaries of the chat, and commit messages."""
        first = next(iter(request["messages"]), None)
        text = message_text(first) if isinstance(first, Mapping) else ""
        return text.lstrip().startswith((_SUMMARY_MARK, _COMMIT_MARK))
