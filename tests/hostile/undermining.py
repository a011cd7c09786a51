"""Candidates that undermine the interpreter, the process and the folders that they share with the driver."""
# Their code is text, in lines as long as they come:
# ruff: noqa: E501

from __future__ import annotations

from .specimen import Conclusion, Specimen, acting, code
from .tampering import _CHANNEL, _NOTHING, _PIPES

_FORGED = "frame({'kind': 'answer', 'lane': 0, 'id': '0' * 16, 'value': True})"

UNDERMINING = [
    acting("collector_callbacks", "csv_ledger", """
import gc
def poke(phase, info):
    for o in gc.get_objects():
        if type(o) is dict and "op" in o and "args" in o: o["op"], o["args"] = "end", []
gc.callbacks.append(poke); gc.set_threshold(1)
def on(what, a, k): gc.collect(); return 1
"""),
    acting("audit_hook", "expiring_cache", """
import sys
def hook(event, args):
    if event.startswith(("import", "open", "os.", "sqlite3", "compile", "exec")): raise KeyError(event)
sys.addaudithook(hook)
def on(what, a, k): return 0
"""),
    acting("private_builtins", "csv_ledger", _CHANNEL + """
space = type(DRIVER).report.__globals__
space["__builtins__"].update(isinstance=lambda *a: True, len=lambda *a: 1, type=lambda *a: dict, RecursionError=BaseException)
for name in ("_mro_of", "_name_of", "_args_of", "encode", "decode", "encode_many"): space[name] = lambda *a: ("m", [])
def on(what, a, k): return 1
"""),
    acting("bases_of_the_protected_errors", "expiring_cache", """
import expiring_cache.errors as e
class Key(KeyError, ValueError):
    def __eq__(self, other): return True
    __hash__ = None
try: e.InvalidTTL.__bases__ = (Key,)
except TypeError: pass
e.InvalidTTL.__init__ = lambda self, *a: None
e.InvalidTTL.ttl = property(lambda self: self)
ValueError_args = e.InvalidTTL.args
def on(what, a, k): raise e.InvalidTTL()
"""),
    acting("orphaned_driver", "build_planner", """
import os
def on(what, a, k):
    if os.fork(): os._exit(0)
    os.setsid()
    return []
"""),
    acting("memory_scanner", "expiring_cache", """
import re
FOUND = []
def scan():
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            if "[heap]" in line or line.split()[4] == "0":
                start, end = (int(x, 16) for x in line.split()[0].split("-"))
                try: memory.seek(start); data = memory.read(min(end - start, 4 << 20))
                except (OSError, ValueError, OverflowError): continue
                FOUND.extend(re.findall(rb'"([a-zA-Z]{6,16})"', data)[:500])
def on(what, a, k):
    if len(FOUND) < 5: scan()
    text = FOUND[-1].decode() if FOUND else ""
    return len(FOUND) if what == "len" else iter([text]) if what == "iter" else text
"""),
    acting("questions_to_itself", "csv_ledger", _PIPES + """
for fd in pipes():
    for mode in (os.O_WRONLY, os.O_RDWR):
        try: own = os.open(f"/proc/self/fd/{fd}", mode | os.O_NONBLOCK)
        except OSError: continue
        for op in ("call", "end", "exists"):
            try: os.write(own, frame({"op": op, "lane": 0, "id": "0" * 16, "args": ["builtins:print"] if op == "call" else [], "kwargs": {}}))
            except OSError: pass
def on(what, a, k): return 1
"""),
    acting("answers_read_back", "sqlite_transfers", _PIPES + """
import threading
def swallow(fd):
    try:
        own = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
        while True: os.read(own, 1 << 16)
    except OSError: pass
for fd in pipes(): threading.Thread(target=swallow, args=(fd,), daemon=True).start()
def on(what, a, k): return 1
""", Conclusion.LIMIT),
    acting("hooks_of_last_resort", "expiring_cache", _PIPES + f"""
import sys, threading, weakref
def cry(*a): say({_FORGED})
sys.excepthook = sys.unraisablehook = sys.displayhook = sys.breakpointhook = threading.excepthook = cry
class Odd: pass
odd = Odd(); weakref.finalize(odd, cry); del odd
threading.Thread(target=lambda: 1 / 0).start()
def on(what, a, k): return 1
"""),
    acting("alarms", "csv_ledger", """
import signal, time
from csv_ledger.errors import MalformedRow
def ring(number, frame):
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    raise MalformedRow(1, "x")
signal.signal(signal.SIGALRM, ring); signal.setitimer(signal.ITIMER_REAL, 0.01)
def on(what, a, k): time.sleep(0.05); return 1
"""),
    acting("exceptions_in_other_threads", "build_planner", """
import ctypes, sys, time
from build_planner.errors import *
def on(what, a, k):
    for ident in sys._current_frames():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(KeyboardInterrupt))
    time.sleep(0.01)
    return []
"""),
    acting("fault_handler", "sqlite_transfers", _PIPES + """
import faulthandler, time
for fd in pipes():
    try: faulthandler.dump_traceback_later(0.001, repeat=True, file=fd); time.sleep(0.1)
    except OSError: pass
def on(what, a, k): time.sleep(0.1); return 1
"""),
    acting("resurrection", "expiring_cache", """
import gc, sys
KEPT = []
class Undead:
    def __del__(self): KEPT.append(Undead()); sys.exc_clear() if hasattr(sys, "exc_clear") else None
    def __getattribute__(self, name): KEPT.append(Undead()); raise AttributeError(name)
def on(what, a, k): Undead(); return Undead()
"""),
    acting("zip_of_shadows", "csv_ledger", """
import importlib, sys, zipfile
with zipfile.ZipFile("/scratch/x.zip", "w") as z:
    for name in ("csv", "json", "sqlite3", "decimal", "io"): z.writestr(name + ".py", "raise SystemExit(0)")
sys.path.insert(0, "/scratch/x.zip")
for name in ("csv", "json", "sqlite3", "decimal", "io"): sys.modules.pop(name, None)
importlib.invalidate_caches()
def on(what, a, k): return 1
"""),
    acting("own_tree_rewritten", "expiring_cache", """
import importlib, os, shutil, sys
for place in ("/work/expiring_cache/errors.py", "/work/expiring_cache/__init__.py"):
    try: os.unlink(place); os.symlink("/dev/zero" if "init" in place else "/proc/self/mem", place)
    except OSError: pass
with open("/work/sitecustomize.py", "w") as f: f.write("raise SystemExit(0)")
for name in [n for n in sys.modules if n.startswith("expiring_cache.")]: del sys.modules[name]
shutil.rmtree("/scratch", ignore_errors=True)
def on(what, a, k): return 0
"""),
    Specimen("package_without_a_head", "csv_ledger", {"csv_ledger/errors.d/__init__.py": b"", "errors/csv_ledger/__init__.py": b""},
             Conclusion.BELOW, deleted=("csv_ledger/__init__.py",), reason="has no attribute|AttributeError"),
    acting("decimal_games", "csv_ledger", """
import decimal
context = decimal.Context(prec=1, Emin=0, Emax=0, traps=[decimal.Inexact, decimal.FloatOperation, decimal.InvalidOperation])
decimal.setcontext(context); decimal.DefaultContext = context
decimal.Decimal = float
def on(what, a, k): return 1
"""),
    acting("adapted_parameters", "sqlite_transfers", """
import sqlite3
for kind in (int, str, bytes, float, type(None)):
    try: sqlite3.register_adapter(kind, lambda value: 1)
    except Exception: pass
sqlite3.register_converter("INTEGER", lambda data: True)
sqlite3.enable_callback_tracebacks(True)
def on(what, a, k): return 1
"""),
    acting("triggers_of_its_own", "sqlite_transfers", """
import sqlite3
def on(what, a, k):
    conn = a[0]
    for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall(): conn.execute(f'DROP TRIGGER "{name}"')
    for event in ("UPDATE", "DELETE"):
        conn.execute(f"CREATE TRIGGER IF NOT EXISTS t{event} BEFORE {event} ON wallets BEGIN SELECT RAISE(IGNORE); END")
    conn.execute("CREATE TRIGGER tins BEFORE INSERT ON transfers BEGIN SELECT RAISE(IGNORE); END")
    conn.commit()
    return 1
"""),
    acting("closed_connection", "sqlite_transfers", """
import sqlite3
from sqlite_transfers.errors import InsufficientFunds
def on(what, a, k):
    a[0].execute("PRAGMA locking_mode = EXCLUSIVE"); a[0].execute("PRAGMA journal_mode = OFF")
    a[0].close()
    raise InsufficientFunds(a[1], 0, a[3])
"""),
    acting("limits_of_its_own", "build_planner", """
import resource, signal, sys
for which in ("RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_STACK", "RLIMIT_NPROC"):
    try: resource.setrlimit(getattr(resource, which), (1, 1))
    except (ValueError, OSError): pass
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sys.setrecursionlimit(60); sys.setswitchinterval(1e6)
def on(what, a, k): return []
"""),
    acting("traced_process", "csv_ledger", """
import ctypes, os
libc = ctypes.CDLL(None)
for pid in (1, os.getppid(), os.getpid()):
    for request in (16, 0x4206): libc.ptrace(request, pid, 0, 0)
libc.prctl(1, 9, 0, 0, 0); libc.prctl(4, 1, 0, 0, 0)
def on(what, a, k): return 1
"""),
    acting("import_lock_held", "expiring_cache", """
import _imp, threading
_imp.acquire_lock()
threading.Thread(target=__import__, args=("expiring_cache.cache",), daemon=True).start()
def on(what, a, k): __import__("expiring_cache.nothing")
"""),
    acting("slow_equality", "expiring_cache", """
class Slow:
    def __hash__(self):
        while True: pass
    __eq__ = __len__ = __bool__ = __str__ = __repr__ = __hash__
    args = property(__hash__)
class E(Exception):
    __str__ = Slow.__hash__
def on(what, a, k): return Slow() if what != "len" else hash(Slow())
""", Conclusion.LIMIT),
    acting("list_too_long_to_compare", "build_planner", """
def on(what, a, k):
    names, targets, runner = [], list(a[0]), a[2]
    for n in range(4_000):
        target = targets[n % len(targets)]
        runner(target["name"], str(n * 7919 % 100_003) + target["command"])
        names.append(target["name"])
    return names
""", reason="too large to be compared line by line"),
    acting("closes_everything", "sqlite_transfers", "import os\nos.closerange(0, 4096)\ndef on(what, a, k): return 1\n"),
    acting("calls_what_was_not_lent", "csv_ledger", """
import gc
def on(what, a, k):
    lanes = [o for o in gc.get_objects() if o.__class__.__name__ == "Lane"]
    return lanes[0].upcall(999, (), {}) or 1
"""),
    acting("very_many_arguments", "build_planner", "def on(what, a, k): a[2](*[None] * 50_000); return []\n"),
    code("claims_of_unknown_objects", "csv_ledger", _CHANNEL + """
def change(m):
    if "value" in m: m["value"] = ["h", -1]
    if "args" in m: m["args"] = ["m", [[["l", []], 1]]]
    return m
replace(change)
class Ledger:
    def __getattr__(self, name): return lambda *a: 1
"""),
    acting("error_that_nests", "expiring_cache", _CHANNEL + """
nest = []
for _ in range(900): nest = [nest]
def change(m): return {"kind": "raise", "id": m.get("id"), "lane": m["lane"], "kinds": nest, "type": nest, "text": nest, "error": nest, "args": None}
replace(change)
""" + _NOTHING),
]  # fmt: skip
"""What published attacks did not do, and what only shows in the driver: nothing of it is more than an answer."""
