"""The agent aider (PyPI ``aider-chat``): SEARCH/REPLACE blocks in plain text, no tool calling."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_agentgrade.attempt.agents.base import EXCHANGE_PLACE, MODEL_URL, PROMPT_PLACE
from pytest_agentgrade.attempt.agents.packaged import PackagedAgent
from pytest_agentgrade.attempt.agents.packages import PLACE

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


@dataclass(frozen=True)
class Aider(PackagedAgent):
    """``aider`` on the prompt, with all Python files of the workspace in its chat."""

    name = "aider"
    needs_tools = False
    adapter = 1
    kept = ("log/*",)
    marks = (
        "*Briefly* summarize this partial conversation",
        "You are an expert software engineer that generates concise",
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
