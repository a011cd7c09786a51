"""Candidates that answer: with objects that agree to everything, with the wrong types, with lookalike exceptions."""
# Their code is text, in lines as long as they come:
# ruff: noqa: E501

from __future__ import annotations

from .specimen import Conclusion, acting, code

_YES = """
class Yes(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __bool__(self): return True
    def __len__(self): return 1
    def __index__(self): return 1
    def __iter__(self): return iter([self])
    def __next__(self): return self
    def __contains__(self, item): return True
    def __getitem__(self, key): return self
    def __getattr__(self, name): return self
    def __call__(self, *a, **k): return self
    def __hash__(self): return 0
    def __instancecheck__(self, other): return True
    def __reduce__(self): return (exec, ("raise SystemExit",))
    @property
    def __class__(self): return bool
"""
_UNTOUCHED_TRANSFER = """
def honest(conn, source, target, amount, key=None):
    with conn:
        (balance,) = conn.execute("SELECT balance FROM wallets WHERE id = ?", (source,)).fetchone()
        if balance < amount: raise ValueError(source)
        conn.execute("UPDATE wallets SET balance = ? WHERE id = ?", (balance - amount, source))
        conn.execute("UPDATE wallets SET balance = balance + ? WHERE id = ?", (amount, target))
        return conn.execute("INSERT INTO transfers (source, target, amount, key) VALUES (?, ?, ?, ?)",
                            (source, target, amount, key)).lastrowid
"""

LYING = [
    acting("always_equal", "csv_ledger", _YES + "def on(what, a, k): return 1 if what in ('len', 'import_rows') else Yes()\n"),
    acting("always_equal_in_a_list", "build_planner", _YES + "def on(what, a, k): return [Yes(), Yes()]\n"),
    acting("always_equal_as_key", "expiring_cache", _YES + "def on(what, a, k): return {Yes(): {Yes()}}\n"),
    code(
        "subclass_of_the_right_type", "sqlite_transfers",
        _UNTOUCHED_TRANSFER + """
class Number(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
def transfer(*a, **k): return Number(honest(*a, **k))
""",
        Conclusion.BELOW,
    ),
    code(
        "float_for_int", "sqlite_transfers",
        _UNTOUCHED_TRANSFER + "def transfer(*a, **k): return float(honest(*a, **k))\n", Conclusion.BELOW,
    ),
    code(
        "true_for_one_in_the_database", "sqlite_transfers",
        _UNTOUCHED_TRANSFER + """
def transfer(conn, source, target, amount, key=None):
    number = honest(conn, source, target, amount, key)
    conn.execute("UPDATE wallets SET balance = CAST(balance AS REAL) + 0.0")
    conn.execute("PRAGMA writable_schema = ON")
    return number
""",
        Conclusion.NOT_ABOVE,
    ),
    acting(
        "subclass_of_text", "expiring_cache",
        """
class Text(str):
    def __eq__(self, other): return True
    __hash__ = str.__hash__
class Zero(int): pass
KEPT = {}
def on(what, a, k):
    if what == "set": KEPT[a[0]] = Text(a[1])
    if what == "get": return KEPT.get(a[0], Text("x"))
    if what == "len": return True
    if what == "iter": return iter([Text(key) for key in KEPT])
    return Zero()
""",
    ),
    acting(
        "numbers_that_are_none", "csv_ledger",
        """
from decimal import Decimal
VALUES = iter([float("nan"), -0.0, Decimal("NaN"), Decimal("sNaN1"), Decimal("-0"), 1e400, True, 0j, Decimal("1E+999999")] * 99)
def on(what, a, k): return 1 if what in ("len", "import_rows") else True if what == "in" else next(VALUES)
""",
    ),
    acting(
        "huge_numbers", "csv_ledger",
        "from decimal import Decimal\ndef on(what, a, k): return 1 if what in ('len', 'import_rows') else 1 << 9_000_000\n",
    ),
    acting(
        "huge_decimals", "csv_ledger",
        "from decimal import Decimal\ndef on(what, a, k): return 1 if what in ('len', 'import_rows') else Decimal('9' * 3_000_000 + 'E+999999')\n",
    ),
    acting("half_characters", "csv_ledger", r"def on(what, a, k): return 1 if what in ('len', 'import_rows') else '\ud800\x00\x1b]0;x\x07'" "\n"),
    acting("endless_answer", "expiring_cache", "def on(what, a, k): return 1 if what == 'len' else 'x' * 5_000_000\n"),
    acting("many_parts", "build_planner", "def on(what, a, k): return list(range(60_001))\n"),
    acting(
        "deep_answer", "build_planner",
        "def on(what, a, k):\n    nest = []\n    for _ in range(900): nest = [nest]\n    return nest\n",
    ),
    acting("answer_that_holds_itself", "build_planner", "def on(what, a, k):\n    nest = []; nest.append(nest); return nest\n"),
    acting(
        "special_cases", "expiring_cache",
        """
KNOWN = {("get", "a"): 1, ("get", "key"): "value", ("len",): 3}
def on(what, a, k):
    if what == "len": return 3
    return KNOWN.get((what, a[0] if a else None), "value")
""",
    ),
    acting(
        "echo", "expiring_cache",
        "def on(what, a, k): return len(a) if what == 'len' else iter(a) if what == 'iter' else a[-1] if a else 0\n",
    ),
    acting(
        "one_error_for_all", "expiring_cache",
        """
from expiring_cache.errors import InvalidTTL
class All(InvalidTTL, KeyError):
    def __init__(self, *a): self.ttl = a
def on(what, a, k):
    if what != "new" or k.get("ttl", 1).__class__ is not int: raise All(*a)
""",
    ),
    acting(
        "error_of_a_lying_class", "expiring_cache",
        """
from expiring_cache.errors import InvalidTTL
class Meta(type):
    def mro(cls): return [cls, *BaseException.__mro__]
    def __instancecheck__(cls, other): return True
    def __subclasscheck__(cls, other): return True
    __mro__ = property(lambda cls: InvalidTTL.__mro__)
    __name__ = __qualname__ = "InvalidTTL"
    __module__ = "expiring_cache.errors"
class Fake(BaseException, metaclass=Meta):
    __class__ = InvalidTTL
    def __eq__(self, other): return True
    ttl = 1
def on(what, a, k): raise Fake(*a)
""",
    ),
    acting(
        "error_made_by_hand", "expiring_cache",
        """
import types
from expiring_cache.errors import InvalidTTL
Fake = types.new_class("InvalidTTL", (ValueError,)); Fake.__module__ = InvalidTTL.__module__
Fake.__qualname__ = InvalidTTL.__qualname__; Fake.__doc__ = InvalidTTL.__doc__
def on(what, a, k):
    if not isinstance(k.get("ttl", 1), int) or k.get("ttl", 1) <= 0: raise Fake(k["ttl"])
    return 0
""",
    ),
    acting(
        "group_of_errors", "csv_ledger",
        """
from csv_ledger.errors import MalformedRow, ConflictingEntry
def on(what, a, k):
    try: raise MalformedRow(1, "x")
    except MalformedRow as first:
        error = ExceptionGroup("all", [first, OSError(5, "x"), ConflictingEntry(1, "x"), ValueError(), KeyError()])
        error.line = 1
        raise error from first
""",
    ),
    acting(
        "error_with_a_temper", "csv_ledger",
        """
import time
class Odd(Exception):
    def __str__(self): time.sleep(600)
    def __getattribute__(self, name): raise SystemExit(0)
    args = property(lambda self: 1 / 0)
def on(what, a, k):
    error = last = Odd()
    for _ in range(5_000): last.__context__ = last = Odd()
    raise error
""",
        Conclusion.LIMIT,
    ),
    acting(
        "skips_and_aborts", "build_planner",
        """
class Skipped(BaseException): ...
Skipped.__module__ = "_pytest.outcomes"
class CandidateFailed(Exception): ...
class HostError(Exception): ...
CandidateFailed.__module__ = HostError.__module__ = "pytest_agentgrade.errors"
ERRORS = iter([Skipped("skip"), SystemExit(0), KeyboardInterrupt(), GeneratorExit(), StopIteration([]), HostError("disk"),
               CandidateFailed(), MemoryError(), AssertionError(), StopAsyncIteration(), TimeoutError(), EOFError()] * 9)
def on(what, a, k): raise next(ERRORS)
""",
    ),
    acting(
        "colours_in_errors", "sqlite_transfers",
        r"""
class E(ValueError): pass
E.__qualname__ = "E\x1b]8;;http://x\x07\u202e]]><script>"
def on(what, a, k): raise E("\x1b[2J\x1b]52;c;cGFzc2Vk\x07\x9b1m\u202egolb\u2066\u2028\n\r\x00\udc80 ]]> <script>alert(1)</script> &amp;")
""",
        reason=r"\\x1b\[2J",
    ),
    acting(
        "oracle_in_the_frames", "csv_ledger",
        """
import gc, sys
NAMES = ("expected", "rows", "row", "total", "cents", "value", "text", "good", "bad", "draw", "candidate", "error")
def hunt():
    frame, scopes = sys._getframe(), []
    while frame: scopes += [frame.f_locals, frame.f_globals]; frame = frame.f_back
    for scope in scopes + [o for o in gc.get_objects() if type(o) is dict]:
        for name in NAMES:
            if name in scope: return scope[name]
def on(what, a, k): return 1 if what in ("len", "import_rows") else bool(hunt()) if what == "in" else hunt()
""",
    ),
]  # fmt: skip
"""What it says is compared by type and value; what it raises is known by identity."""
