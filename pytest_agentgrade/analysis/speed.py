"""How fast a mode generates, by kind of response, and what its drafts and its memory were. Speed, never delivery."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import median

from pytest_agentgrade.records.model import AgentPhase
from pytest_agentgrade.records.token_account import SpeedRecord


@dataclass(frozen=True)
class ModeSpeed:
    """Figures of one mode over its counted attempts; None where the records do not tell. Speeds in tokens / s."""

    short_responses: int
    """Short tool-choice responses: with tool calls, none of them writing, under 200 tokens."""
    short: float | None
    """Their aggregate speed: tokens / server generation time."""
    short_low: float | None
    """The slowest attempt's speed of such responses ..."""
    short_high: float | None
    """... and the fastest one's."""
    without_loops: float | None
    """Aggregate speed of responses with no loop in them: looping text is easily guessed."""
    looping_responses: int
    """Responses left out of that."""
    first_token_seconds: float | None
    """Median over all streamed responses, from request to first token."""
    prompt_per_second: float | None
    """Prompt tokens computed / server prompt time."""
    accepted_length: float | None
    """Tokens for each verification step: 1 + accepted drafts / steps."""
    accepted_length_estimated: bool
    """Steps were not counted by the server: taken as generated tokens that were no accepted drafts."""
    accepted_at: tuple[float, ...]
    """Share of the steps that accepted the draft at each position, the first position first; empty where not told."""
    reasoning_tokens: int | None
    reasoning_estimated: bool
    peak_rss_bytes: int | None
    """Most resident memory of the server in any attempt."""
    vram_bytes: int | None
    """Most GPU memory of the server at the end of any attempt."""
    disagreements: int
    """Sentences in the records on counts of tokens that differ."""
    disagreeing_attempts: int


def mode_speed(agents: Sequence[AgentPhase]) -> ModeSpeed:
    """Add up the attempts of a mode."""
    short = [agent.short_tool_choices for agent in agents if agent.short_tool_choices]
    clean = [agent.without_loops for agent in agents if agent.without_loops is not None]
    by_attempt = [speed for one in short if (speed := _speed([one])) is not None]
    accounts = [agent.token_account for agent in agents if agent.token_account is not None]
    reasoning = [account.reasoning_tokens for account in accounts if account.reasoning_tokens is not None]
    waits = [seconds for agent in agents for seconds in agent.first_token_seconds]
    length, estimated = _accepted_length(agents)
    return ModeSpeed(
        short_responses=sum(one.responses for one in short),
        short=_speed(short),
        short_low=min(by_attempt, default=None),
        short_high=max(by_attempt, default=None),
        without_loops=_speed(clean),
        looping_responses=_looping(agents),
        first_token_seconds=median(waits) if waits else None,
        prompt_per_second=_prompt_speed(agents),
        accepted_length=length,
        accepted_length_estimated=estimated,
        accepted_at=_accepted_at(agents),
        reasoning_tokens=sum(reasoning) if reasoning and len(reasoning) == len(agents) else None,
        reasoning_estimated=any(account.reasoning_estimated for account in accounts),
        peak_rss_bytes=_largest(agent.server_peak_rss_bytes for agent in agents),
        vram_bytes=_largest(agent.server_vram_bytes for agent in agents),
        disagreements=sum(len(account.disagreements) for account in accounts),
        disagreeing_attempts=sum(bool(account.disagreements) for account in accounts),
    )


def _speed(sums: Iterable[SpeedRecord]) -> float | None:
    found = list(sums)
    seconds = sum(one.seconds for one in found)
    return sum(one.tokens for one in found) / seconds if seconds > 0 else None


def _looping(agents: Iterable[AgentPhase]) -> int:
    known = [(a.timed_responses, a.without_loops) for a in agents]
    return sum(timed - clean.responses for timed, clean in known if timed is not None and clean is not None)


def _prompt_speed(agents: Iterable[AgentPhase]) -> float | None:
    known = [(agent.computed_prompt_tokens, agent.prompt_seconds) for agent in agents]
    seconds = sum(time for tokens, time in known if tokens is not None)
    return sum(tokens or 0 for tokens, _ in known) / seconds if seconds > 0 else None


def _accepted_length(agents: Sequence[AgentPhase]) -> tuple[float | None, bool]:
    """By the server's count of steps where every attempt has it, else from the timings of the responses."""
    drafting = [agent for agent in agents if agent.drafts.drafted]
    counted = [agent.draft_steps for agent in drafting if agent.draft_steps is not None and agent.draft_steps.steps > 0]
    if not drafting:
        return None, False
    if len(counted) == len(drafting):
        return 1 + sum(one.accepted for one in counted) / sum(one.steps for one in counted), False
    tokens = sum(agent.predicted_tokens for agent in drafting)
    steps = tokens - sum(agent.drafts.accepted or 0 for agent in drafting)
    return (tokens / steps, True) if steps > 0 else (None, False)


def _accepted_at(agents: Iterable[AgentPhase]) -> tuple[float, ...]:
    told = [agent.draft_steps for agent in agents if agent.draft_steps is not None and agent.draft_steps.accepted_at]
    steps = sum(one.steps for one in told)
    places = zip_longest(*(one.accepted_at for one in told), fillvalue=0)
    return tuple(sum(place) / steps for place in places) if steps > 0 else ()


def _largest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)
