"""What becomes of exceptions that are nobody's of this package."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from pathlib import Path

import pytest

from pytest_agentgrade.errors import Fault, HostError, TaskAuthorError, as_fault
from pytest_agentgrade.grading.local import LocalTransport


def test_what_says_whose_fault_it_is_stays_as_it_is() -> None:
    error = TaskAuthorError("no check")
    assert as_fault(error) is error


def test_a_machine_that_refuses_is_no_bug_of_ours() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened[0] + 1, hard))
    try:
        with pytest.raises(OSError) as caught:
            while True:
                opened.append(os.open(os.devnull, os.O_RDONLY))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for handle in opened:
            os.close(handle)
    fault = as_fault(caught.value)
    assert fault.fault is Fault.HOST and "Too many open files" in str(fault) and "please report" not in str(fault)


def test_anything_else_is_one() -> None:
    fault = as_fault(KeyError("x"))
    assert fault.fault is Fault.HOST and "please report" in str(fault) and fault.__cause__ is not None


def test_a_temporary_folder_that_cannot_be_made_is_the_hosts_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(HostError, match=r"cannot make .*gone.* - set TMPDIR"):
        LocalTransport()


def test_a_process_that_cannot_be_started_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    with pytest.raises(HostError, match="no-python"):
        LocalTransport()
    (place,) = tmp_path.glob("agentgrade-*/t")
    assert list(place.iterdir()) == []
