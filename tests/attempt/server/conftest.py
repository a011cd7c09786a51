"""Modes and a launcher with the demo model, for tests with a real server."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import pytest

from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.attempt.server import RunningServer, ServerConfig, httpcalls, launch
from pytest_agentgrade.demo import demo_model_path

BASELINE = Mode("baseline", ("--spec-type", "none"), speculates=False)
MTP = Mode("mtp", ("--spec-type", "draft-mtp", "--spec-draft-n-max", "3"), speculates=True)
DEMO = ServerConfig(model=demo_model_path(), context=4096, threads=1, start_timeout=60)

TOOL = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Read a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}


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


def chat(server: RunningServer, tokens: int = 40, **more: object) -> dict[str, Any]:
    """One chat completion with a tool, every sampling field explicit."""
    body = {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Read a file."}],
        "tools": [TOOL],
        "max_tokens": tokens,
        "seed": 4242,
        "temperature": 1.0,
        "top_p": 0.95,
        "top_k": 20,
        "min_p": 0.0,
    }
    answer: dict[str, Any] = httpcalls.post_json(server.url, "/v1/chat/completions", body | more)
    return answer
