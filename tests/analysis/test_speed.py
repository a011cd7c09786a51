from __future__ import annotations

from typing import Any

import pytest

from pytest_agentgrade.analysis.speed import mode_speed
from pytest_agentgrade.records.model import AgentPhase
from pytest_agentgrade.records.token_account import DraftSteps, SpeedRecord, TokenAccount
from tests.records_made_here import an_agent


def agent(**changes: Any) -> AgentPhase:
    drafts = changes.pop("drafts", None)
    return an_agent(drafts=drafts).model_copy(update=changes)


def test_speeds_are_sums_before_they_are_ratios() -> None:
    slow, fast = SpeedRecord(responses=9, tokens=300, seconds=10.0), SpeedRecord(responses=1, tokens=80, seconds=1.0)
    speed = mode_speed([agent(short_tool_choices=slow), agent(short_tool_choices=fast), agent()])
    assert (speed.short_responses, speed.short_low, speed.short_high) == (10, 30.0, 80.0)
    assert speed.short == pytest.approx(380 / 11)


def test_looping_responses_are_counted_beside_the_speed_without_them() -> None:
    clean = SpeedRecord(responses=4, tokens=100, seconds=2.0)
    speed = mode_speed([agent(timed_responses=6, without_loops=clean)])
    assert (speed.without_loops, speed.looping_responses) == (50.0, 2)


def test_accepted_length_is_by_the_servers_steps() -> None:
    steps = DraftSteps(drafted=90, accepted=60, steps=30, accepted_at=[28, 20, 12])
    speed = mode_speed([agent(drafts=(90, 60), draft_steps=steps)] * 2)
    assert speed.accepted_length == 3.0 and not speed.accepted_length_estimated
    assert speed.accepted_at == pytest.approx((28 / 30, 20 / 30, 12 / 30))


def test_without_counted_steps_it_is_an_estimate() -> None:
    """3,600 tokens, 2,400 of them accepted drafts: 1,200 steps."""
    speed = mode_speed([agent(drafts=(3_000, 2_400))])
    assert speed.accepted_length == 3.0 and speed.accepted_length_estimated and speed.accepted_at == ()


def test_a_mode_without_drafts_has_no_accepted_length() -> None:
    idle = DraftSteps(drafted=0, accepted=0, steps=0)
    assert mode_speed([agent(drafts=(0, 0), draft_steps=idle)]).accepted_length is None


def test_the_rest() -> None:
    accounts = [TokenAccount(reasoning_tokens=5, reasoning_estimated=True), TokenAccount(disagreements=["a", "b"])]
    first = agent(first_token_seconds=[1.0, 9.0], computed_prompt_tokens=700, server_peak_rss_bytes=5,
                  token_account=accounts[0])  # fmt: skip
    second = agent(first_token_seconds=[2.0], computed_prompt_tokens=300, server_peak_rss_bytes=9, server_vram_bytes=7,
                   token_account=accounts[1])  # fmt: skip
    speed = mode_speed([first, second])
    assert (speed.first_token_seconds, speed.prompt_per_second) == (2.0, 500.0)
    assert (speed.peak_rss_bytes, speed.vram_bytes) == (9, 7)
    assert (speed.disagreements, speed.disagreeing_attempts) == (2, 1)
    assert speed.reasoning_tokens is None, "unknown for one attempt"
    assert mode_speed([first]).reasoning_tokens == 5


def test_records_of_older_versions_have_no_figures_and_are_no_error() -> None:
    speed = mode_speed([an_agent()])
    assert (speed.short, speed.without_loops, speed.first_token_seconds, speed.prompt_per_second) == (None,) * 4
    assert mode_speed([]).looping_responses == 0
