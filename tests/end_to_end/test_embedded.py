"""The main job on a real server: llama.cpp inside a child process, with the model that comes with the package."""

from __future__ import annotations

import re

import pytest

from tests.graded import QUIET_PLUGINS, Graded, run_pytest

TASK = "sqlite_transfers"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    folder = tmp_path_factory.mktemp("embedded")
    return run_pytest(
        folder, "--agent-mode=baseline,mtp", f"--agent-task={TASK}", "--agent-seed=4242", "--agent-task-seconds=40",
        "--agent-exit=measure", "-n", "2", "--junitxml=junit.xml", "--tb=no", *QUIET_PLUGINS, seconds=600,
    )  # fmt: skip


def test_both_modes_are_graded_also_with_two_workers(graded: Graded) -> None:
    assert graded.code == 0, graded.output
    assert set(graded.records) == {f"{TASK}[baseline-4242]", f"{TASK}[mtp-4242]"}
    assert all(record.complete for record in graded.records.values())


def test_the_servers_were_in_their_modes_and_reused_no_prefix(graded: Graded) -> None:
    baseline, mtp = graded.records[f"{TASK}[baseline-4242]"], graded.records[f"{TASK}[mtp-4242]"]
    assert baseline.agent is not None and mtp.agent is not None
    assert baseline.server is not None and mtp.server is not None
    assert (baseline.server.speculative, mtp.server.speculative) == (False, True)
    assert baseline.agent.mode_proof == mtp.agent.mode_proof == "proven"
    assert baseline.agent.drafts.drafted == 0 and (mtp.agent.drafts.drafted or 0) > 0
    assert baseline.agent.cached_tokens == mtp.agent.cached_tokens == 0
    assert baseline.agent.first_request_sha256 == mtp.agent.first_request_sha256
    assert baseline.server.model_sha256 == mtp.server.model_sha256 and baseline.server.demo


def test_all_counts_of_tokens_agree_and_drafts_are_known_by_position(graded: Graded) -> None:
    agents = [record.agent for record in graded.records.values()]
    accounts = [agent.token_account for agent in agents if agent is not None]
    assert [account.disagreements for account in accounts if account is not None] == [[], []]
    mtp = graded.records[f"{TASK}[mtp-4242]"].agent
    assert mtp is not None and mtp.draft_steps is not None and mtp.token_account is not None
    assert mtp.token_account.usage_tokens == mtp.token_account.timings_tokens == mtp.predicted_tokens
    assert len(mtp.draft_steps.accepted_at) == 3
    assert sum(mtp.draft_steps.accepted_at) == mtp.draft_steps.accepted == mtp.drafts.accepted
    assert mtp.first_token_seconds and mtp.server_peak_rss_bytes
    assert any(line.startswith("speed ") for line in graded.output.splitlines())


def test_workers_kept_the_order_of_the_plan(graded: Graded) -> None:
    starts = [record.agent.started_at for record in graded.records.values() if record.agent is not None]
    ends = [r.agent.started_at + r.agent.clock_seconds for r in graded.records.values() if r.agent is not None]
    assert starts == sorted(starts) and starts[1] >= ends[0], "one clock at a time"


def test_the_summary_says_that_the_model_is_a_fixture(graded: Graded) -> None:
    assert graded.output.count("fixture") == 1
    assert re.search(r"^mtp +\d+/\d+ \(\d+%\)", graded.output, re.MULTILINE), "drafts made and accepted are shown"
    assert re.search(r"^baseline +- ", graded.output, re.MULTILINE), "and that there were none"


def test_every_check_of_every_attempt_is_in_junit(graded: Graded) -> None:
    assert len(graded.testcases()) == sum(len(record.verdicts) for record in graded.records.values())
