from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from pytest_agentgrade.analysis.summary import summarise
from pytest_agentgrade.records.model import AttemptRecord
from pytest_agentgrade.records.token_account import DraftSteps, SpeedRecord, TokenAccount
from pytest_agentgrade.reporting.summary_text import summary_lines
from tests.records_made_here import a_key, a_run, an_agent, an_attempt

SHORT = SpeedRecord(responses=3, tokens=100, seconds=2.5)
STEPS = DraftSteps(drafted=90, accepted=60, steps=30, accepted_at=[28, 20, 12])


def attempt(mode: str, drafts: tuple[int, int] | None = None, **changes: Any) -> AttemptRecord:
    return an_attempt(a_key(mode), agent=an_agent(drafts=drafts).model_copy(update=changes))


def both() -> list[AttemptRecord]:
    return [
        attempt("baseline", short_tool_choices=SHORT, first_token_seconds=[0.25], server_peak_rss_bytes=3 << 29),
        attempt(
            "mtp", (90, 60), draft_steps=STEPS, server_vram_bytes=3 << 30, server_peak_rss_bytes=200 << 20,
            timed_responses=9, without_loops=SpeedRecord(responses=7, tokens=90, seconds=1.0),
            token_account=TokenAccount(disagreements=["request 1: usage says 3 tokens, timings 9"]),
        ),
    ]  # fmt: skip


def test_speeds_have_a_table_of_their_own() -> None:
    lines = summary_lines(a_run(both()), both())
    rows = {tuple(line.split()) for line in lines}
    assert ("baseline", "36.0", "40.0", "-", "-", "0.25", "s", "-") in rows
    assert ("mtp", "36.0", "-", "90.0", "2", "-", "-") in rows
    assert ("baseline", "-", "-", "1.5", "GiB") in rows
    assert ("mtp", "60/90", "(67%)", "3.00", "200", "MiB", "+", "3.0", "GiB", "GPU") in rows
    assert "mtp: counts of tokens disagree 1 time, in 1 attempt; the records say which." in lines
    assert "mtp: steps that accepted draft 1, 2, ...: 93%, 67%, 40%." in lines


def test_an_estimate_is_marked() -> None:
    records = [attempt("mtp", (3_000, 2_400))]
    text = "\n".join(summary_lines(a_run(records), records))
    assert "~3.00" in text and "\n~: the server does not count verification steps" in text


def test_where_every_response_loops_there_is_no_speed_without_loops() -> None:
    nothing = SpeedRecord(responses=0, tokens=0, seconds=0.0)
    records = [attempt("mtp", timed_responses=1, without_loops=nothing)]
    rows = [line.split() for line in summary_lines(a_run(records), records)]
    assert ["mtp", "36.0", "-", "-", "1", "-", "-"] in rows


def test_there_is_no_table_where_nothing_is_known() -> None:
    assert not any(
        line.startswith(("speed", "memory")) for line in summary_lines(a_run([an_attempt()]), [an_attempt()])
    )


def test_it_is_in_markdown_and_json_too() -> None:
    assert any(
        line.startswith("| speed | tok/s | short") for line in summary_lines(a_run(both()), both(), markdown=True)
    )
    figures = [asdict(one)["speed"] for one in summarise(both())]
    assert json.loads(json.dumps(figures))[0]["short"] == 40.0
