"""Complete records of attempts that differ in nothing but what a test changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_agentgrade.analysis.pair_conditions import Recorded
from pytest_agentgrade.records.model import AttemptRecord, ModeDeclaration, RunRecord, ServerPhase, WorkspacePhase
from tests.records_made_here import a_key, a_run, an_agent, an_attempt

OFF = ("--spec-type", "none")
ON = ("--spec-type", "draft-mtp", "--spec-draft-n-max", "3")
MODE_ARGS: Mapping[str, tuple[str, ...]] = {"baseline": OFF, "mtp": ON}


def a_server(own: Sequence[str] = OFF, common: Sequence[str] = ("-ub", "512"), **changes: Any) -> ServerPhase:
    port = str(40_000 + len(own))
    program = ("/opt/bin/llama-server", "-m", "/models/q.gguf", "-c", "32768", *common, *own)
    values: dict[str, Any] = {
        "kind": "binary", "build": "version: 11146", "argv": [*program, "--host", "127.0.0.1", "--port", port],
        "url": f"http://127.0.0.1:{port}", "model": "/models/q.gguf", "model_sha256": "aa" * 32, "context": 32_768,
        "speculative": own != OFF, "supports_tools": True, "declared": ModeDeclaration(server_args=list(own)),
        "environment": {}, "program_sha256": "dd" * 32,
        "seconds": 1.0,
    }  # fmt: skip
    return ServerPhase.model_validate(values | changes)


def a_full_attempt(
    mode: str = "baseline", passed: int = 10, *, seed: int = 4242, task: str = "t", budget: int = 8192,
    server: ServerPhase | None = None, seconds: float = 100.0, **agent: Any,
) -> AttemptRecord:  # fmt: skip
    place = WorkspacePhase(tree_digest="11", commit_id="22", task_digest="33", prompt_sha256="44", seconds=0.1)
    label = f"{mode}-{seed}" if budget == 8192 else f"{mode}-{seed}-b{budget}"
    key = replace(a_key(mode, seed, task, budget), label=label)
    told = {"image_id": "sha256:55", "cache_untold": 0, "sampling_seed": seed, "made_with": "1", "session": "s"}
    values = told | {"first_request_sha256": f"{seed}{budget}"} | agent
    record = an_attempt(key, passed, agent=an_agent(seconds).model_copy(update=values))
    return record.model_copy(
        update={"workspace": place, "server": server or a_server(MODE_ARGS.get(mode, ("--mode", mode)))}
    )


def in_run(record: AttemptRecord, run: RunRecord | None = None) -> Recorded:
    return Recorded(record, run or a_run())
