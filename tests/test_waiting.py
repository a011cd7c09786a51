"""Nobody waits in silence: who holds the lock, at once, then now and then."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.waiting import Waiting, held, holder

HOLD = """
import filelock, sys
lock = filelock.FileLock(sys.argv[1])
lock.acquire()
print(1, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A lock that another process holds until its input ends."""
    path = tmp_path / "x.lock"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield path, process
        process.kill()


def test_the_holder_is_named_at_once_and_the_lock_is_had_when_it_is_free(
    busy: tuple[Path, subprocess.Popen[str]],
) -> None:
    path, process = busy
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        process.communicate("")  # the holder goes

    with held(path, "uses device 0", Waiting(say)):
        assert holder(path).startswith("process ") and str(process.pid) not in holder(path)
    (line,) = said
    assert line.startswith(f"waiting: process {process.pid} (python") and f" in {path.parent}) uses device 0" in line


def test_too_long_is_a_fault_that_names_the_holder(busy: tuple[Path, subprocess.Popen[str]]) -> None:
    path, process = busy
    what = f"another run has held .* for more than 0 s: process {process.pid} .* uses device 0 - wait for the other run"
    with pytest.raises(HostError, match=what), held(path, "uses device 0", Waiting(print), timeout=0.2):
        pass


def test_a_lock_that_nobody_holds_is_nobodys(tmp_path: Path) -> None:
    said: list[str] = []
    with held(tmp_path / "free.lock", "uses it", Waiting(said.append)):
        pass
    assert not said and holder(tmp_path / "free.lock") == holder(tmp_path / "none") == "another process"


def test_it_is_said_again_every_half_minute_only() -> None:
    now, said = [0.0], []
    waiting = Waiting(said.append, clock=lambda: now[0])
    for second in range(100):
        now[0] = float(second)
        waiting.still(lambda: f"{now[0]:.0f}")
    assert said == ["waiting: 0", "waiting: 30", "waiting: 60", "waiting: 90"]


def test_what_was_told_is_not_told_again_at_once() -> None:
    now, said = [0.0], []
    waiting = Waiting(said.append, told=True, clock=lambda: now[0])
    waiting.still(lambda: "early")
    now[0] = 31.0
    waiting.still(lambda: "late")
    assert said == ["waiting: late"]


def test_a_lock_that_cannot_be_had_at_all_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    with pytest.raises(HostError, match="cannot use the lock"), held(tmp_path / "lock", "waits", Waiting(print)):
        raise AssertionError("nobody can hold a folder")
