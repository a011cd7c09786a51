"""Candidates that want the score without the work. Each replaces ``toy/__init__.py``."""

from __future__ import annotations

_LIFE = """
class Anything:
    def __getattr__(self, name): return self
    def __call__(self, *a, **k): return self
"""

_FDS = """
import os, json
def private():
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if "pipe" in os.readlink("/proc/self/fd/" + name): found.append(int(name))
        except OSError: pass
    return found
def frame(message):
    text = json.dumps(message).encode()
    return len(text).to_bytes(4, "big") + text
def say(data):
    for fd in private():
        try: os.write(fd, data)
        except OSError: pass
"""

HOSTILE: dict[str, str] = {
    "always_equal": """
class Yes:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
    def __len__(self): return 1
    def __index__(self): return 1
    def __iter__(self): return iter([self])
    def __contains__(self, x): return True
    def __getattr__(self, name): return self
    def __call__(self, *a, **k): return self
    def __hash__(self): return 0
def total(n): list(n); return Yes()
def parse(t): return Yes()
Stamps = Yes()
""",
    "subclasses": """
class MyInt(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
class MyErr(ValueError): pass
MyErr.__name__ = MyErr.__qualname__ = "Bad"; MyErr.__module__ = "toy.errors"
def total(n): return MyInt(sum(n))
def parse(t):
    if t.isdigit(): return MyInt(t)
    raise MyErr(t)
class Stamps:
    def __init__(self, clock): self.now = MyInt(clock())
    def mark(self, k): pass
    def when(self, k): return self.now
    def __contains__(self, k): return True
""",
    "wrong_types": """
from toy.errors import Bad
def total(n): return float(sum(n))
def parse(t):
    if t.isdigit(): return t
    raise Bad(t.encode())
class Stamps:
    def __init__(self, clock): self.clock = clock
    def mark(self, k): self.now = str(self.clock())
    def when(self, k): return self.now
    def __contains__(self, k): return 1
""",
    "frame_walker": """
import sys, gc
def hunt(*args):
    frame, seen = sys._getframe(), []
    while frame:
        seen += [frame.f_locals, frame.f_globals]
        frame = frame.f_back
    for scope in seen + [o for o in gc.get_objects() if type(o) is dict]:
        for name in ("expected", "numbers", "number", "now", "key", "text", "value"):
            if name in scope and type(scope[name]) in (int, str, list): return scope[name]
    return None
def total(n): list(n); return hunt()
def parse(t): return hunt()
class Stamps:
    def __init__(self, clock): pass
    def mark(self, k): pass
    def when(self, k): return hunt()
    def __contains__(self, k): return bool(hunt())
""",
    "builtins_patcher": """
import builtins, json, os, sys, threading, queue
class Yes(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
for name in ("len", "isinstance", "type", "sum", "getattr", "id", "str", "dict", "list", "AssertionError", "print"):
    setattr(builtins, name, lambda *a, **k: Yes(1))
json.dumps = json.loads = lambda *a, **k: Yes(1)
json.JSONEncoder.encode = json.JSONEncoder.default = lambda *a, **k: "true"
os.read = os.write = lambda *a, **k: b""
def total(n): return 1
def parse(t): return 1
class Stamps:
    def __init__(self, clock): pass
    def mark(self, k): pass
    def when(self, k): return 1
    def __contains__(self, k): return True
""",
    "driver_tamperer": """
import gc
def channels():
    return [o for o in gc.get_objects() if o.__class__.__name__ == "Channel"]
for channel in channels():
    kind = channel.__class__
    real = kind.send
    def send(self, message, real=real):
        if message.get("kind") in ("answer", "raise"):
            message = {"kind": "answer", "lane": message["lane"], "id": message["id"], "value": True}
        real(self, message)
    kind.send = send
def total(n): return sum(n)
def parse(t): raise ValueError(t)
class Stamps:
    def __init__(self, clock): pass
""",
    "raises_everything": """
from toy.errors import Bad
class All(Bad, KeyError, TypeError, RuntimeError): pass
def total(n): raise All()
def parse(t):
    if t.isdigit() and len(t) > 1 and t != "1": raise All(t)
    raise All(t)
class Stamps:
    def __init__(self, clock): clock()
    def mark(self, k): pass
    def when(self, k): raise All(k)
    def __contains__(self, k): raise All(k)
""",
    "system_exit": """
def total(n): raise SystemExit(0)
def parse(t): raise KeyboardInterrupt
class Stamps:
    def __init__(self, clock): raise GeneratorExit
""",
    "skips": """
class Skipped(BaseException): pass
Skipped.__module__ = "_pytest.outcomes"
def total(n): raise Skipped("skip")
def parse(t): raise Skipped("skip")
class Stamps:
    def __init__(self, clock): raise Skipped("skip")
""",
    "exits_at_import": "import os\nprint('10 passed')\nos._exit(0)\n",
    "closes_everything": "import os\nos.closerange(0, 4096)\n",
    "report_lines": """
import sys, os
for stream in (sys.stdout, sys.stderr, sys.__stdout__):
    print("===== 10 passed in 0.01s =====", file=stream, flush=True)
for fd in range(3): os.write(fd, b"PASSED\\n")
def total(n): print("PASSED"); return "PASSED"
parse = Stamps = total
""",
    "garbage_on_the_pipe": _FDS + "say(b'10 passed\\n' * 100)\ntotal = parse = Stamps = lambda *a: None\n",
    "forged_frames": _FDS
    + """
for kind in ("answer", "upcall", "hello"):
    for lane in (0, 1):
        more = {"value": True, "n": 1, "to": 0, "args": [], "kwargs": {}}
        say(frame({"kind": kind, "lane": lane, "id": "0" * 16, **more}))
total = parse = Stamps = lambda *a: True
""",
    "last_word": _FDS
    + """
import atexit, threading, sys, time
message = frame({"kind": "answer", "lane": 0, "id": "", "value": True})
atexit.register(say, message)
class Late:
    def __del__(self): say(message)
sys.late = Late()
def later():
    for _ in range(2000):
        say(message); time.sleep(0.01)
threading.Thread(target=later, daemon=True).start()
total = parse = Stamps = lambda *a: True
""",
    "steals_questions": _FDS
    + """
import threading
def steal():
    for fd in private():
        try: os.read(fd, 1 << 20)
        except OSError: pass
threading.Thread(target=steal, daemon=True).start()
def total(n): return sum(n)
""",
    "answers_twice": """
import os, time
from toy.errors import Bad
def twice():
    if os.fork(): time.sleep(0.3)  # the child is first, the parent's answer is one too many
def total(n): n = list(n); twice(); return sum(n)
def parse(t):
    twice()
    if t.isdigit(): return int(t)
    raise Bad(t)
class Stamps:
    def __init__(self, clock): twice()
""",
    "calls_unlent_things": """
import gc
def total(n):
    lanes = [o for o in gc.get_objects() if o.__class__.__name__ == "Lane"]
    lanes[0].upcall(999, (), {})
parse = Stamps = total
""",
    "claims_of_unknown_objects": _FDS
    + """
import gc
for channel in [o for o in gc.get_objects() if o.__class__.__name__ == "Channel"]:
    real = channel.__class__.send
    def send(self, message, real=real):
        if "value" in message: message["value"] = ["h", -1]
        if "args" in message: message["args"] = ["m", [[["l", []], 1]]]
        real(self, message)
    channel.__class__.send = send
total = parse = Stamps = lambda *a: 1
""",
    "odd_exceptions": _FDS
    + """
import gc
nest = []
for _ in range(900): nest = [nest]
for channel in [o for o in gc.get_objects() if o.__class__.__name__ == "Channel"]:
    real = channel.__class__.send
    def send(self, message, real=real):
        if message["kind"] in ("answer", "raise"):
            odd = {"kinds": nest, "type": nest, "text": nest, "error": nest, "args": None}
            message = {"kind": "raise", "id": message["id"], "lane": message["lane"], **odd}
        real(self, message)
    channel.__class__.send = send
total = parse = Stamps = lambda *a: 1
""",
    "calls_with_a_million_arguments": """
def total(n): n.__class__.__call__ = None; return list(n)
def parse(t): return int(t)
class Stamps:
    def __init__(self, clock): clock(*[None] * 50_000)
""",
    "no_python": "\x00\xff this is not Python",
    "empty": "",
    "special_cases": "def total(n): return 6\ndef parse(t): return {'1': 1, '42': 42}[t]\nclass Stamps: ...\n",
    "deep_recursion": """
import sys
sys.setrecursionlimit(10**7)
def total(n): return total(n) + 1
parse = Stamps = total
""",
    "endless_answer": "total = parse = Stamps = lambda *a: 'x' * 20_000_000\n",
    "deep_answer": """
def total(*a):
    nest = []
    for _ in range(50): nest = [nest]
    return nest
parse = Stamps = total
""",
    "signals": """
import os, signal
def total(n): os.kill(os.getpid(), signal.SIGKILL)
def parse(t): os.kill(os.getppid(), signal.SIGKILL); os.kill(1, signal.SIGTERM); return int(t)
class Stamps:
    def __init__(self, clock): signal.raise_signal(signal.SIGTERM)
""",
}

SLOW: dict[str, str] = {
    "hangs": """
import signal
for number in range(1, 32):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: pass
""",
    "fork_bomb": """
import os
while True:
    try: os.fork()
    except OSError: pass
""",
    "memory_filler": "kept = []\nwhile True: kept.append(bytearray(1 << 20))\n",
    "scratch_filler": "import os\nwith open('/scratch/x', 'wb') as f:\n    while True: f.write(b'x' * (1 << 20))\n",
    "output_flood": _FDS
    + "while True: say(frame({'kind': 'answer', 'lane': 0, 'id': '', 'value': 'x' * 1_000_000}))\n",
    "endless_upcalls": "def total(n):\n    while True: next(n, 0)\n"
    "class Stamps:\n    def __init__(self, clock):\n        while True: clock()\n",
    "lingering_children": """
import os, time
for _ in range(10):
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
        os._exit(0)
total = parse = Stamps = lambda *a: time.sleep(600)
""",
}
