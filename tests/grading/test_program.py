"""The driver's program for a Python like ours, and for another one."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_agentgrade.grading.program import command, program
from pytest_agentgrade.grading.wire import HEADER, frame_length, unpack

OURS = platform.python_version()


@pytest.mark.parametrize("version", [OURS, "3.99.0"])
def test_driver_starts_from_bytecode_and_from_source(tmp_path: Path, version: str) -> None:
    line = command(str(tmp_path), str(tmp_path), python=sys.executable, version=version)
    done = subprocess.run(line, input=b"", capture_output=True, check=True)
    assert frame_length(done.stdout[:HEADER]) == len(done.stdout) - HEADER
    assert unpack(done.stdout[HEADER:]) == {"kind": "hello", "python": OURS}


def test_only_the_very_same_python_is_given_bytecode() -> None:
    assert "def frame_length" in program("3.99.0") and "def frame_length" not in program(OURS)


def test_program_fits_in_one_argument() -> None:
    assert max(len(program(version)) for version in (OURS, "3.99.0")) < 128 * 1024
