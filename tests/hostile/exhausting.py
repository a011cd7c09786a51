"""Candidates that run until something stops them."""
# Their code is text, in lines as long as they come:
# ruff: noqa: E501

from __future__ import annotations

from .specimen import Conclusion, Specimen, acting, code
from .tampering import _PIPES

_BASE = "def on(what, a, k): return 1\n"
_FIRST = {
    "build_planner": ("test_changed_source_runs_its_dependents_only",),
    "csv_ledger": ("test_only_plain_digits_are_an_amount",),
    "expiring_cache": ("test_what_is_no_ttl_is_refused",),
    "sqlite_transfers": ("test_refuses_more_than_the_balance_of_the_source",),
}


def _limit(name: str, task: str, text: str, reason: str = "") -> Specimen:
    return code(name, task, text, Conclusion.LIMIT, checks=_FIRST[task], reason=reason)


EXHAUSTING = [
    *(
        code(f"exits_like_docker_{status}", "csv_ledger", f"import os\nprint('10 passed')\nos._exit({status})\n",
             checks=_FIRST["csv_ledger"], reason=f"exit code {status}")
        for status in (0, 125, 137)
    ),
    _limit("killed_by_itself", "expiring_cache", "import os\nos.kill(os.getpid(), 9)\n", "exit code 137"),
    _limit("kills_everybody", "sqlite_transfers", "import os\nos.kill(-1, 9)\n"),
    _limit("stops_itself", "build_planner", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n", "in time"),
    _limit("dies_of_a_bad_pointer", "csv_ledger", "import ctypes\nctypes.string_at(8)\n", "exit code 139"),
    _limit(
        "recursion", "build_planner",
        "import sys\nsys.setrecursionlimit(10**9)\ndef build(*a): return build(*a)\n",
    ),
    _limit("fork_bomb", "expiring_cache", "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n"),
    _limit(
        "thread_bomb", "csv_ledger",
        "import threading, time\nwhile True:\n    try: threading.Thread(target=time.sleep, args=(99,)).start()\n"
        "    except RuntimeError: pass\n",
    ),
    _limit("memory_filler", "csv_ledger", "kept = []\nwhile True: kept.append(bytearray(1 << 20))\n", "more memory"),
    _limit(
        "memory_filler_in_tmpfs", "sqlite_transfers",
        """
import os
for folder in ("/scratch", "/tmp", "/work", "/dev/shm", "/run", "/var/tmp", "/home"):
    try:
        with open(folder + "/x", "wb") as file:
            while True: file.write(b"x" * (1 << 20))
    except OSError: pass
def transfer(*a, **k): return 1
""",
    ),
    _limit(
        "inode_filler", "build_planner",
        """
for folder in ("/scratch", "/tmp", "/work", "/dev/shm"):
    try:
        for number in range(10**6): open(f"{folder}/{number}", "w").close()
    except OSError: pass
def build(*a): return []
""",
    ),
    _limit("open_files", "csv_ledger", "import os\nwhile True:\n    try: os.open('/dev/zero', 0)\n    except OSError: break\nclass Ledger:\n    def import_rows(self, lines): return 1\n"),
    _limit(
        "output_flood", "expiring_cache",
        _PIPES + "while True: say(frame({'kind': 'answer', 'lane': 0, 'id': '', 'value': 'x' * 1_000_000}))\n",
    ),
    _limit(
        "error_flood", "csv_ledger",
        "import os\nfd = os.open('/proc/1/fd/2', os.O_WRONLY)\nwhile True: os.write(fd, b'x' * 65_536)\n",
        "bytes of output",
    ),
    _limit("slow_answer", "build_planner", _PIPES + """
import time
def build(*a):
    say(b"\\0\\0\\x10\\0")
    while True: say(b" "); time.sleep(0.3)
"""),
    _limit("reads_no_questions", "csv_ledger", """
import gc, time
DRIVER = next(o for o in gc.get_objects() if o.__class__.__name__ == "Driver")
DRIVER.channel.receive = lambda: time.sleep(600)
class Ledger: ...
"""),
    _limit("hang", "sqlite_transfers", """
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: pass
""", "in time"),
    _limit("hang_with_children", "expiring_cache", """
import os, time
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True: time.sleep(60)
        time.sleep(600)
time.sleep(600)
"""),
    _limit("regular_expression", "csv_ledger", "import re\nre.match('(a+)+$', 'a' * 60 + 'b')\n", "in time"),
    _limit("huge_number", "build_planner", "def build(*a): return str(10 ** 10 ** 9)\n"),
    acting("waits_for_a_lock", "expiring_cache", "import _thread\nl = _thread.allocate_lock(); l.acquire()\ndef on(what, a, k): l.acquire()\n",
           Conclusion.LIMIT, checks=_FIRST["expiring_cache"]),
]  # fmt: skip
"""Ended in time, by the container's limits or the host's; the run goes on."""
