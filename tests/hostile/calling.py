"""Candidates that misuse what a check lends them: clocks, iterators, factories, runners, lanes, files."""
# Their code is text, in lines as long as they come:
# ruff: noqa: E501

from __future__ import annotations

from .specimen import Conclusion, acting

_CONCURRENT = (
    "test_concurrent_callers_share_one_factory_call",
    "test_nothing_else_waits_for_a_factory",
    "test_factory_error_reaches_all_its_callers",
)

CALLING = [
    acting(
        "clock_without_end", "expiring_cache",
        "def on(what, a, k):\n    if what == 'new':\n        while True: k['clock']()\n", Conclusion.LIMIT,
    ),
    acting("clock_never_read", "expiring_cache", "def on(what, a, k): return 0 if what != 'iter' else iter(())\n"),
    acting(
        "clock_of_another_thread", "expiring_cache",
        """
import threading
READINGS = []
def on(what, a, k):
    if what == "new":
        reader = threading.Thread(target=lambda: READINGS.append(k["clock"]()))
        reader.start(); reader.join()
    return len(READINGS) if what == "len" else READINGS[-1]
""",
    ),
    acting(
        "clock_with_arguments", "expiring_cache",
        "def on(what, a, k):\n    if what == 'new': k['clock'](1, x=2)\n    return 0\n",
    ),
    acting(
        "clock_kept_for_later", "expiring_cache",
        """
import threading, time
def on(what, a, k):
    if what == "new":
        def poke():
            while True:
                time.sleep(0.001)
                try: k["clock"]()
                except Exception: pass
                try: next(c.cell_contents for c in k["clock"].__closure__ if hasattr(c.cell_contents, "channel")).channel.receive()
                except Exception: pass
        for _ in range(4): threading.Thread(target=poke, daemon=True).start()
    return 0
""",
        Conclusion.LIMIT,
    ),
    acting(
        "factory_called_by_all", "expiring_cache",
        "def on(what, a, k): return a[1]() if what == 'get_or_compute' else 0\n", checks=_CONCURRENT[:1],
    ),
    acting(
        "factory_never_called", "expiring_cache",
        "def on(what, a, k): return None\n", checks=_CONCURRENT[1:],
    ),
    acting(
        "lane_that_never_returns", "expiring_cache",
        """
import time
def on(what, a, k):
    if what == "get_or_compute":
        a[1]()
        while True: time.sleep(1)
    return 0
""",
        Conclusion.LIMIT, checks=_CONCURRENT[:1],
    ),
    acting(
        "lane_that_answers_for_another", "expiring_cache",
        """
import gc
DRIVER = next(o for o in gc.get_objects() if o.__class__.__name__ == "Driver")
def on(what, a, k):
    if what == "get_or_compute":
        for number in list(DRIVER._lanes):
            DRIVER.channel.send({"kind": "answer", "lane": number, "id": "", "value": "x"})
    return 0
""",
        checks=_CONCURRENT[:1],
    ),
    acting(
        "lanes_held_by_one_lock", "expiring_cache",
        """
import threading
LOCK = threading.Lock()
def on(what, a, k):
    if what == "new": return
    with LOCK: return a[1]() if what == "get_or_compute" else None
""",
        checks=(_CONCURRENT[1],),
    ),
    acting(
        "parks_in_the_main_lane", "expiring_cache",
        """
import threading
def on(what, a, k):
    if what == "get_or_compute": threading.Event().wait()
    return 0
""",
        Conclusion.LIMIT, checks=_CONCURRENT[2:],
    ),
    acting(
        "iterator_read_to_the_end", "csv_ledger",
        "def on(what, a, k): return len(list(a[0])) if what == 'import_rows' else 1\n",
    ),
    acting(
        "iterator_after_its_end", "csv_ledger",
        """
def on(what, a, k):
    for _ in range(3_000):
        if what == 'import_rows': next(a[0], None) if hasattr(a[0], "__next__") else list(a[0])
    return 1
""",
    ),
    acting(
        "iterator_of_another_thread", "csv_ledger",
        """
import threading
def on(what, a, k):
    if what == "import_rows":
        for _ in range(4): threading.Thread(target=list, args=(a[0],), daemon=True).start()
    return 1
""",
    ),
    acting(
        "iterator_swallows_errors", "csv_ledger",
        """
def on(what, a, k):
    if what == "import_rows":
        while True:
            try: next(iter(a[0]))
            except StopIteration: return 1
            except Exception as error: raise type(error)(*error.args, "more") from None
    return 1
""",
        Conclusion.LIMIT,
    ),
    acting("runner_never_called", "build_planner", "def on(what, a, k): return sorted(t['name'] for t in a[0])\n"),
    acting(
        "runner_called_with_lies", "build_planner",
        """
def on(what, a, k):
    for junk in ((), (None, None), ("x" * 10**6, []), ([], {}), (a[2], a[2]), (object(), object())):
        try: a[2](*junk)
        except Exception: pass
    return []
""",
    ),
    acting(
        "runner_calls_itself", "build_planner",
        """
class Text(str):
    def __str__(self): return self
def on(what, a, k):
    while True: [a[2](t["name"], t["command"]) for t in list(a[0])]
""",
        Conclusion.LIMIT,
    ),
    acting(
        "state_file_is_a_trap", "build_planner",
        """
import os
def on(what, a, k):
    path = a[3]
    if os.path.lexists(path): return []
    os.mkfifo(path) if hash(path) % 2 else os.symlink("/proc/self/mem", path)
    return [a[2](t["name"], t["command"]) and t["name"] for t in list(a[0])]
""",
    ),
]  # fmt: skip
"""The host counts, answers and ends whatever is called."""
