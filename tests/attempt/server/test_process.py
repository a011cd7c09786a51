from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from pytest_agentgrade.attempt.server.process import WatchedProcess
from pytest_agentgrade.errors import HostError


def started(code: str, tmp_path: Path) -> WatchedProcess:
    return WatchedProcess([sys.executable, "-c", code], tmp_path / "log", os.environ)


def wait_for_line(process: WatchedProcess, text: str) -> None:
    deadline = time.monotonic() + 30
    while text not in process.log_tail():
        assert time.monotonic() < deadline, process.log_tail()
        time.sleep(0.02)


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_exit_code_and_last_lines_are_kept(tmp_path: Path) -> None:
    process = started("print('one'); print('two'); raise SystemExit(7)", tmp_path)
    assert process.ended.wait(30)
    assert process.exit_status() == 7
    assert process.log_tail(1) == "two"


def test_a_kill_from_outside_is_noticed_at_once(tmp_path: Path) -> None:
    process = started("import time; print('up', flush=True); time.sleep(600)", tmp_path)
    wait_for_line(process, "up")
    assert process.exit_status() is None
    peak = process.peak_rss_bytes()
    assert peak is not None and peak > 1_000_000
    os.kill(process.pid, signal.SIGKILL)
    assert process.ended.wait(5)
    assert process.exit_status() == -signal.SIGKILL
    assert process.peak_rss_bytes() is None


def test_stop_is_polite_first(tmp_path: Path) -> None:
    code = "import signal, sys\nprint('up', flush=True)\nsignal.sigwait([15])\nprint('bye')"
    process = started("import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [15])\n" + code, tmp_path)
    wait_for_line(process, "up")
    process.stop()
    assert process.exit_status() == 0
    assert process.log_tail(1) == "bye"


def test_stop_kills_what_does_not_listen_and_its_children(tmp_path: Path) -> None:
    code = (
        "import signal, subprocess, sys\nsignal.signal(15, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '600'])\nprint('child', child.pid, flush=True)\nchild.wait()"
    )
    process = started(code, tmp_path)
    wait_for_line(process, "child ")
    child = int(process.log_tail(1).split()[1])
    assert running(child)
    process.stop(grace=0.2)
    assert process.exit_status() == -signal.SIGKILL
    deadline = time.monotonic() + 10
    while running(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not running(child)


def test_what_cannot_start_is_the_hosts_fault(tmp_path: Path) -> None:
    with pytest.raises(HostError):
        WatchedProcess(["true"], tmp_path / "no" / "such" / "log", os.environ)
