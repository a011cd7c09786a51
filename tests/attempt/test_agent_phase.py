from __future__ import annotations

from pytest_agentgrade.attempt.agent_phase import token_account
from pytest_agentgrade.attempt.exchange import TokenCount
from pytest_agentgrade.attempt.reconcile import ResponseCount
from pytest_agentgrade.attempt.server import RunningServer
from pytest_agentgrade.attempt.server.config import DraftCounters, ServerInfo, ServerKind
from pytest_agentgrade.records.token_account import TokenAccount
from tests.scripted_server import SCRIPTS, ScriptedServer

INFO = ServerInfo(ServerKind.URL, "", (), (), "", "", 32_768, "", None)


def a_count(usage: int | None, reasoning: TokenCount | None, *said: str) -> ResponseCount:
    return ResponseCount(1, 10, usage, 11, None, reasoning, said)


def test_counts_are_summed_each_by_itself() -> None:
    counts = [a_count(11, TokenCount(4, "usage")), a_count(None, TokenCount(5, "tokenize"), "request 1: no")]
    assert token_account(counts) == TokenAccount(
        delivered_pieces=20, usage_tokens=11, timings_tokens=22, reasoning_tokens=9, reasoning_estimated=True,
        disagreements=["request 1: no"],
    )  # fmt: skip


def test_reasoning_unknown_for_one_response_is_unknown() -> None:
    account = token_account([a_count(11, TokenCount(4, "usage")), a_count(11, None)])
    assert account.reasoning_tokens is None and not account.reasoning_estimated


def test_counters_of_the_server_by_position() -> None:
    with ScriptedServer(SCRIPTS["idle"], drafts=True) as scripted:
        server = RunningServer(scripted.url, INFO, {}, None)
        before = server.metrics()
        scripted.drafted, scripted.accepted = 40, 30
        after = server.metrics()
    assert before == DraftCounters(0, 0, 0, (0,))
    assert after is not None and before is not None
    assert after.since(before) == DraftCounters(40, 30, 40, (30,))


def test_counters_since_a_moment_before_there_were_positions() -> None:
    assert DraftCounters(9, 5, 3, (3, 2)).since(DraftCounters(1, 1, 1)) == DraftCounters(8, 4, 2, (3, 2))
