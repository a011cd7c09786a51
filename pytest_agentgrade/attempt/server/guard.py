"""Run a command that cannot outlive the thread that started it: ``guard.py PARENT_PID COMMAND...`` (Linux).

A program of its own, so that the flag is set after the fork without running Python code between fork and exec of a
process with many threads. It imports nothing of this package.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask the kernel for SIGKILL at the parent's death, then become the command."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:  # it died before the flag was set
        os._exit(1)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
