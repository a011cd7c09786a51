from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_agentgrade.sandbox.owner import Owner, labels, owner_of, process_start_time


def test_current_process_is_not_gone() -> None:
    assert not Owner.current().is_gone()


def test_labels_name_the_owner_again() -> None:
    owner = Owner.current()
    assert owner_of(labels(owner, "run-1", "judge")) == owner


def test_foreign_labels_have_no_owner() -> None:
    assert owner_of({"agentgrade": "1"}) is None
    assert owner_of({"agentgrade": "h:b:x:1"}) is None
    assert owner_of({}) is None
    assert owner_of(None) is None


def test_reused_process_id_means_gone() -> None:
    owner = Owner.current()
    assert replace(owner, start_time=owner.start_time - 1).is_gone()


def test_earlier_boot_means_gone() -> None:
    assert replace(Owner.current(), boot_id="00000000-0000-0000-0000-000000000000").is_gone()


def test_other_machine_is_never_called_gone() -> None:
    owner = Owner.current()
    assert not replace(owner, host_id="elsewhere", pid=1, start_time=0).is_gone()


def test_zombie_counts_as_gone() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and its entry is still there
    assert Path(f"/proc/{child.pid}/stat").exists()
    assert process_start_time(child.pid) is None
    child.wait()


def test_a_process_that_proc_hides_from_us_is_not_called_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """``/proc`` mounted with ``hidepid``: another user's process is not there, but it may not be signalled either."""

    def refused(_pid: int, _number: int) -> None:
        raise PermissionError

    hidden = replace(Owner.current(), pid=2**22 + 1)
    assert hidden.is_gone()
    monkeypatch.setattr(os, "kill", refused)
    assert not hidden.is_gone()
    assert replace(Owner.current(), start_time=1).is_gone(), "one that can be seen to be another"


def test_command_name_with_spaces_and_parentheses(tmp_path: Path) -> None:
    odd = tmp_path / "a) R 1 (b"
    odd.symlink_to("/bin/sleep")
    child = subprocess.Popen([odd, "30"])
    try:
        ours = process_start_time(os.getpid())
        theirs = process_start_time(child.pid)
        assert ours is not None and theirs is not None
        assert ours <= theirs < ours + 100 * 3600
    finally:
        child.kill()
        child.wait()
