"""Modes and a launcher with the demo model, for tests with a real server."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import pytest

from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.attempt.agents import toolloop_program
from pytest_agentgrade.attempt.server import RunningServer, ServerConfig, httpcalls, launch
from pytest_agentgrade.demo import demo_model_path

BASELINE = Mode("baseline", ("--spec-type", "none"), speculates=False)
MTP = Mode("mtp", ("--spec-type", "draft-mtp", "--spec-draft-n-max", "3"), speculates=True)
DEMO = ServerConfig(model=demo_model_path(), context=4096, threads=1, start_timeout=60)

PROMPT = Path(__file__).parents[3] / "task_fixtures" / "build_planner" / "prompt.md"


class Launcher(Protocol):
    def __call__(
        self, mode: Mode, config: ServerConfig = DEMO, watch: Callable[[int], None] | None = None
    ) -> AbstractContextManager[RunningServer]: ...


@pytest.fixture
def launched(tmp_path: Path) -> Launcher:
    """``launch`` with its places filled in."""

    def start(
        mode: Mode, config: ServerConfig = DEMO, watch: Callable[[int], None] | None = None
    ) -> AbstractContextManager[RunningServer]:
        places: dict[str, Any] = {"log_path": tmp_path / "server.log", "lock_dir": tmp_path / "locks"}
        return launch(mode, config, watch=watch, **places)

    return start


def chat(server: RunningServer, tokens: int = 1_000, **more: object) -> dict[str, Any]:
    """The first request of the built-in agent on a bundled task, which the demo model answers with a tool call."""
    body = {
        "messages": toolloop_program.Conversation(PROMPT.read_text(encoding="utf-8")).messages,
        "tools": toolloop_program.TOOLS,
        "max_tokens": tokens,
        "seed": 4242,
        "temperature": 1.0,
        "top_p": 0.95,
        "top_k": 20,
        "min_p": 0.0,
    }
    answer: dict[str, Any] = httpcalls.post_json(server.url, "/v1/chat/completions", body | more)
    return answer
