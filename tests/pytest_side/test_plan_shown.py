"""``--collect-only`` shows the plan once; kept servers and what does not go with them."""

from __future__ import annotations

from pathlib import Path

from tests.graded import QUIET_PLUGINS, run_pytest

COLLECT = ("--collect-only", "-q", "--agent-mode=baseline,mtp", "--agent-task=csv_ledger", *QUIET_PLUGINS)


def plan_of(output: str) -> list[str]:
    lines = [line.strip() for line in output.splitlines()]
    (head,) = [at for at, line in enumerate(lines) if line.startswith("agentgrade: plan of")]
    return [line for line in lines[head + 1 :] if line[:1].isdigit() and "[" in line and "::" not in line]


def test_the_plan_is_shown_once_in_its_order(tmp_path: Path) -> None:
    assert plan_of(run_pytest(tmp_path, *COLLECT).output) == [
        "1. csv_ledger[baseline-4242]",
        "2. csv_ledger[mtp-4242]",
        "3. csv_ledger[mtp-8675309]",
        "4. csv_ledger[baseline-8675309]",
    ]


def test_only_attempts_that_have_a_check_to_run_are_planned(tmp_path: Path) -> None:
    assert plan_of(run_pytest(tmp_path, *COLLECT, "-k", "mtp-4242").output) == ["1. csv_ledger[mtp-4242]"]


def test_a_kept_server_and_a_balanced_order_make_little_sense_together(tmp_path: Path) -> None:
    arguments = [argument for argument in COLLECT if argument != "-q"]
    balanced = run_pytest(tmp_path, *arguments, "--agent-server-restart=mode")
    assert "server_restart=mode makes little sense in balanced order: 1 of 4 attempts keep one" in balanced.output
    blocked = run_pytest(tmp_path, *arguments, "--agent-server-restart=mode", "--agent-order=blocked")
    assert "2 attempts use the server of the one before; modes that run apart make blocked pairs" in blocked.output
    assert plan_of(blocked.output)[1] == "2. csv_ledger[baseline-8675309]"


def test_a_kept_server_belongs_to_one_process(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, *COLLECT, "--agent-server-restart=mode", "-n", "2")
    assert done.code == 4 and "server_restart=mode keeps a server in one process, -n makes several" in done.output


def test_without_collect_only_or_grading_no_plan_is_shown(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text("def test_mine():\n    pass\n")
    done = run_pytest(tmp_path, "--collect-only", *QUIET_PLUGINS)
    assert done.code == 0 and "plan of" not in done.output
