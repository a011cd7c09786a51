"""Records for tests, made from the few figures that matter to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pytest_agentgrade.plan import AttemptKey
from pytest_agentgrade.records.model import (
    AgentPhase,
    AttemptRecord,
    DraftCounts,
    EndingRecord,
    FaultRecord,
    KeyRecord,
    RunRecord,
    SubmissionPhase,
    VerdictRecord,
)

Outcome = Literal["passed", "failed", "error"]


def a_key(mode: str = "mtp", seed: int = 4242, task: str = "t", budget: int = 8192) -> AttemptKey:
    return AttemptKey(task, mode, seed, 0, budget, f"{mode}-{seed}")


def a_verdict(number: int, outcome: Outcome = "passed", *, beyond: bool = False) -> VerdictRecord:
    return VerdictRecord(
        check=f"test_{'beyond' if beyond else 'check'}_{number}", beyond=beyond, outcome=outcome, seconds=0.1, draw_n=0,
        draw_seed="ff", fingerprint="fa",
    )  # fmt: skip


def an_agent(
    seconds: float = 100.0, tokens: int = 3600, generation: float = 100.0, drafts: tuple[int, int] | None = None
) -> AgentPhase:
    drafted, accepted = drafts or (None, None)
    return AgentPhase(
        agent="toolloop", agent_version="1", started_at=0.0, clock_seconds=seconds, exit_code=0, ended="exited",
        requests=3, first_request_sha256="ab", sampling_seed=4242, sampling={"temperature": 1.0}, task_seconds=480.0,
        turns=100, prompt_tokens=1000, cached_tokens=0, completion_tokens=tokens, predicted_tokens=tokens,
        predicted_seconds=generation, prompt_seconds=1.0, drafts=DraftCounts(drafted=drafted, accepted=accepted),
        mode_proof="proven", server_peak_rss_bytes=None,
    )  # fmt: skip


def an_attempt(
    key: AttemptKey | None = None,
    passed: int = 10,
    *,
    checks: int = 10,
    agent: AgentPhase | None = None,
    endings: Sequence[str] = (),
    fault: str | None = None,
) -> AttemptRecord:
    key = key or a_key()
    verdicts = [a_verdict(number, "passed" if number < passed else "failed") for number in range(checks)]
    return AttemptRecord(
        key=KeyRecord(**{name: getattr(key, name) for name in KeyRecord.model_fields}),
        agent=agent or an_agent(),
        submission=SubmissionPhase(
            origin="agent", digest="cd", endings=[EndingRecord(ending=ending, at_seconds=1.0) for ending in endings]
        ),
        verdicts=verdicts if fault is None else [],
        fault=None if fault is None else FaultRecord(fault=fault, message="no disk", phase="server"),
    )


def a_run(records: Sequence[AttemptRecord] = (), **changes: object) -> RunRecord:
    values: dict[str, object] = {
        "run_id": "r1", "created_at": 0.0, "version": "0", "settings": {}, "sources": {}, "modes": {},
        "plan": [record.key for record in records], "plan_digest": "d", "order": "balanced", "draw_key": "00",
        "host": {},
    }  # fmt: skip
    return RunRecord.model_validate(values | changes)
