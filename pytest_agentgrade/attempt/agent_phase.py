"""The record of an agent's run: what was asked, how long it took, and every count of its tokens.

Made while the server still runs: its tokenizer and its own counters belong to the account.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pytest_agentgrade
from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.attempt.accounting import Totals, totals
from pytest_agentgrade.attempt.agents.base import AgentRun
from pytest_agentgrade.attempt.exchange import Exchange, cached_tokens
from pytest_agentgrade.attempt.reconcile import ResponseCount, reconcile_all
from pytest_agentgrade.attempt.server import RunningServer, prove_mode
from pytest_agentgrade.attempt.server.config import DraftCounters
from pytest_agentgrade.attempt.speeds import Speeds, SpeedSum, speeds
from pytest_agentgrade.records.host import process_vram_bytes
from pytest_agentgrade.records.model import AgentPhase, DraftCounts
from pytest_agentgrade.records.token_account import DraftSteps, SpeedRecord, TokenAccount


def agent_phase(
    run: AgentRun,
    exchanges: Sequence[Exchange],
    server: RunningServer,
    mode: Mode,
    settings: Settings,
    *,
    seed: int,
    image_id: str,
    packages: Sequence[str],
    counted_before: DraftCounters | None,
    session: str,
) -> AgentPhase:
    """The finished phase; ``counted_before`` is what the server's counters said when the attempt began.

    ``packages`` says what the agent's image has in it, ``name==version`` each; ``session`` which call of pytest it is.
    """
    sums, alive = totals(exchanges), server.alive()
    proof = prove_mode(mode, server.speculating() if alive else None, sums.drafted, sums.accepted)
    return AgentPhase(
        **_of_run(run),
        **_asked(exchanges, settings),
        sampling_seed=seed,
        image_id=image_id,
        agent_packages=list(packages),
        **_summed(exchanges, sums),
        mode_proof=proof.status.value,
        mode_notes=[*proof.sentences, *proof.warnings],
        server_peak_rss_bytes=server.peak_rss_bytes(),
        server_vram_bytes=process_vram_bytes(server.pid) if server.pid is not None else None,
        server_died=not alive,
        token_account=token_account(reconcile_all(exchanges, server.tokenize if alive else None)),
        draft_steps=_draft_steps(server.metrics() if alive else None, counted_before),
        made_with=pytest_agentgrade.__version__,
        session=session,
        **_timed(speeds(exchanges)),
    )


def _of_run(run: AgentRun) -> dict[str, Any]:
    return {
        "agent": run.agent,
        "agent_version": run.version,
        "started_at": run.started_at,
        "clock_seconds": run.seconds,
        "exit_code": run.exit_code,
        "ended": run.ended.value,
    }


def _asked(exchanges: Sequence[Exchange], settings: Settings) -> dict[str, Any]:
    sent = [exchange for exchange in exchanges if exchange.sent and not exchange.auxiliary]
    return {
        "requests": len(sent),
        "auxiliary_requests": sum(exchange.sent and exchange.auxiliary for exchange in exchanges),
        "first_request_sha256": sent[0].request_digest if sent else None,
        "sampling": settings.sampling.model_dump(),
        "thinking": settings.thinking,
        "abort_loops": settings.abort_loops,
        "task_seconds": settings.task_seconds,
        "turns": settings.turns,
    }


def _summed(exchanges: Sequence[Exchange], sums: Totals) -> dict[str, Any]:
    return {
        "prompt_tokens": sums.prompt_tokens,
        "cached_tokens": sums.cached_tokens,
        "cache_untold": sum(cached_tokens(exchange) is None for exchange in exchanges if exchange.deltas),
        "completion_tokens": sums.completion_tokens,
        "predicted_tokens": sums.predicted_tokens,
        "predicted_seconds": sums.predicted_seconds,
        "prompt_seconds": sums.prompt_seconds,
        "drafts": DraftCounts(drafted=sums.drafted, accepted=sums.accepted),
    }


def _timed(fast: Speeds) -> dict[str, Any]:
    return {
        "short_tool_choices": _speed(fast.short_tool_choices),
        "timed_responses": fast.every.responses,
        "without_loops": _speed(fast.without_loops),
        "first_token_seconds": [round(seconds, 4) for seconds in fast.first_token_seconds],
        "computed_prompt_tokens": fast.prompt_tokens,
    }


def token_account(counts: Sequence[ResponseCount]) -> TokenAccount:
    """Sums of each count by itself; where one is missing for a response it is left out of that sum only."""
    reasoning = [count.reasoning for count in counts]
    known = [one for one in reasoning if one is not None]
    return TokenAccount(
        delivered_pieces=sum(count.deltas for count in counts),
        usage_tokens=_sum([count.usage for count in counts]),
        timings_tokens=_sum([count.timings for count in counts]),
        reasoning_tokens=sum(one.tokens for one in known) if len(known) == len(reasoning) else None,
        reasoning_estimated=any(one.source == "tokenize" and one.tokens for one in known),
        disagreements=[sentence for count in counts for sentence in count.disagreements],
    )


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _speed(one: SpeedSum) -> SpeedRecord:
    return SpeedRecord(**asdict(one))


def _draft_steps(after: DraftCounters | None, before: DraftCounters | None) -> DraftSteps | None:
    if after is None or before is None:
        return None
    added = after.since(before)
    return DraftSteps(
        drafted=added.drafted, accepted=added.accepted, steps=added.steps, accepted_at=list(added.accepted_at)
    )
