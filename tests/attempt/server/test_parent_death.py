from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PARENT = """
import sys, threading, time
from pathlib import Path
from tests.attempt.server.conftest import BASELINE, DEMO
from pytest_agentgrade.attempt.server import launch

block = launch(BASELINE, DEMO, log_path=Path(sys.argv[1]) / "log", lock_dir=Path(sys.argv[1]))
starter = threading.Thread(target=lambda: print(block.__enter__().pid, flush=True))
starter.start()
starter.join()
time.sleep(600)
"""


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test_no_server_outlives_a_killed_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3], text=True) as parent:
        assert parent.stdout is not None
        server = int(parent.stdout.readline())
        time.sleep(0.3)
        assert not gone(server), "the end of the thread that launched it must not end the server"
        os.kill(parent.pid, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while not gone(server) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert gone(server)
