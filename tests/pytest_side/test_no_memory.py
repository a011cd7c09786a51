"""Memory that runs out while one check is judged is an error of that check, and the session goes on."""

from __future__ import annotations

from pathlib import Path

from tests.graded import QUIET_PLUGINS, run_pytest

PLUGIN = """
from pytest_agentgrade.records.store import AttemptStore

write = AttemptStore.write_verdict

def write_verdict(self, verdict):
    if "commit_that_fails" in verdict.check:
        raise MemoryError
    write(self, verdict)

AttemptStore.write_verdict = write_verdict

def pytest_pyfunc_call(pyfuncitem):
    if "retry" in pyfuncitem.name:
        raise MemoryError
"""


def test_it_is_an_error_of_the_check_it_struck(tmp_path: Path) -> None:
    (tmp_path / "low_memory.py").write_text(PLUGIN)
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches" / "sqlite_transfers.patch").write_text("no patch at all\n")
    done = run_pytest(
        tmp_path, "--agent-patches=patches", "--agent-seed=7", "-k", "moves_the_amount or retry or commit_that_fails",
        "-rE", "-p", "low_memory", *QUIET_PLUGINS, env={"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert "INTERNALERROR" not in done.output, done.output
    assert "1 failed, 11 deselected, 2 errors" in done.output, done.output
    assert done.output.count("\nERROR ") == 2 and "MemoryError" in done.output
    (record,) = done.records.values()
    verdicts = {verdict.check: verdict for verdict in record.verdicts}
    assert len(verdicts) == 2, "what could not be written is not there"
    (struck,) = (verdict for verdict in verdicts.values() if verdict.outcome == "error")
    assert "retry" in struck.check and struck.reason.startswith("MemoryError: no memory was left on this machine")
