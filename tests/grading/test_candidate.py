"""The whole vocabulary, against a driver in a real process."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from pytest_agentgrade.checks import Candidate
from pytest_agentgrade.errors import CandidateFailed, TaskAuthorError
from pytest_agentgrade.grading.session import Limits

from .toy import RIGHT, opened

SOURCE = (
    RIGHT
    + """
import csv, sqlite3, threading
from toy.errors import Worse
import toy.errors
from . import errors as also
assert toy.errors is also and toy.errors.Bad is Bad
LIMIT = 12

def same(x): return x
def apply(f, *args, **kwargs): return f(*args, **kwargs)
def tolerant(f, *args):
    try: return f(*args)
    except Exception as error: return [type(error).__name__, list(error.args)]
def drain(items):
    taken = []
    try:
        for item in items: taken.append(item)
    except OSError as error: return taken, error.errno, error.args
    return taken

class Text(str): pass
class Odd(Bad): pass
class Both(Bad, KeyError): pass
class NoText(Bad):
    def __str__(self): raise RuntimeError("no")
    def __eq__(self, other): return True
    __hash__ = None

def fail(kind, *args):
    kinds = {k.__name__: k for k in (Bad, Worse, Odd, Both, NoText, ValueError, KeyError, OSError, SystemExit,
        KeyboardInterrupt, StopIteration, csv.Error, sqlite3.OperationalError)}
    error = kinds[kind](*args)
    error.line = 17
    raise error

class Box:
    def __init__(self): self.items, self.open, self._lock = {}, 0, threading.Lock()
    def __len__(self): return len(self.items)
    def __getitem__(self, k): return self.items[k]
    def __setitem__(self, k, v): self.items[k] = v
    def __delitem__(self, k): del self.items[k]
    def __contains__(self, k): return k in self.items
    def __iter__(self): return iter(self.items)
    def __enter__(self): self.open += 1; return self
    def __exit__(self, kind, error, trace): self.open -= 1; self.seen = repr(error); return kind is ValueError
    def locked(self, f):
        with self._lock: return f()
    def expect(self): return "mine"
"""
)


@pytest.fixture(scope="module")
def shared() -> Iterator[Candidate]:
    with opened(SOURCE, limits=Limits(question=60, check=3_600)) as candidate:
        yield candidate


PLAIN: list[Any] = [
    None,
    True,
    0,
    -(10**5000),
    1.5,
    "é\0",
    b"\xff",
    Decimal("1.50"),
    date(2024, 2, 29),
    [1, (2, {3: {"x"}})],
    {None: ()},
]


@pytest.mark.parametrize("value", PLAIN, ids=range(len(PLAIN)))
def test_plain_values_go_in_and_out(shared: Candidate, value: Any) -> None:
    assert shared.call("toy:same", value) == value
    assert shared.call("toy:same", x=value) == value


def test_objects_stay_and_keep_their_identity(shared: Candidate) -> None:
    box, other = shared.call("toy:Box"), shared.call("toy:Box")
    assert shared.same(shared.call("toy:same", box), box) is True
    assert shared.same(other, box) is False
    assert shared.call("toy:same", [box, 1]) == [box, 1]
    text = shared.call("toy:Text", "abc")
    assert (text == "abc") is False
    assert shared.len(text) == 3


def test_operators(shared: Candidate) -> None:
    box = shared.call("toy:Box")
    shared.setitem(box, "a", 1)
    shared.setitem(box, "b", [2])
    assert shared.getitem(box, "b") == [2]
    assert shared.len(box) == 2
    assert shared.contains(box, "a") == True  # noqa: E712 - the vocabulary
    assert shared.list(box) == ["a", "b"]
    iterator = shared.iter(box)
    assert shared.next(iterator) == "a"
    assert shared.take(iterator, 5) == ["b"]
    with shared.raises(StopIteration):
        shared.next(iterator)
    shared.delitem(box, "a")
    assert shared.contains(box, "a") == False  # noqa: E712
    assert shared.same(shared.enter(box), box)
    assert shared.attr(box, "open") == 1
    assert shared.exit(box, ValueError("x")) == True  # noqa: E712
    assert shared.attr(box, "seen") == "ValueError('x')"
    assert shared.exit(box) == False  # noqa: E712
    shared.setattr(box, "open", 9)
    assert shared.attr(box, "open") == 9
    assert shared.find("toy:LIMIT") == 12
    assert shared.invoke(shared.find("toy:same"), 3) == 3
    assert shared.method(box, "expect") == "mine"


@pytest.mark.parametrize("name", ["__class__", "__dict__", "__init__"])
def test_dunder_names_are_refused(shared: Candidate, name: str) -> None:
    box = shared.call("toy:Box")
    for use in (shared.attr, shared.bound, shared.method):
        with pytest.raises(TaskAuthorError, match="a check asks for"):
            use(box, name)


def test_callback_runs_here_and_is_counted(shared: Candidate) -> None:
    add = shared.callback(lambda a, b=0: a.expect(int) + (b if isinstance(b, int) else b.expect(int)))
    assert shared.call("toy:apply", add, 3, b=4) == 7
    assert shared.call("toy:apply", add, 3) == 3
    assert add.calls == [(3,), (3,)]


def test_callback_raises_in_the_candidate(shared: Candidate) -> None:
    def fail(code: Any) -> None:
        raise OSError(code.expect(int), "nonce")

    assert shared.call("toy:tolerant", shared.callback(fail), 5) == ["OSError", [5, "nonce"]]
    assert shared.call("toy:tolerant", shared.callback(lambda: 1), 1, 2) == [
        "TypeError",
        ["too many positional arguments"],
    ]


def test_callback_may_ask_in_turn(shared: Candidate) -> None:
    box = shared.call("toy:Box")
    outer = shared.callback(lambda: shared.call("toy:apply", shared.callback(lambda: shared.len(box))))
    assert shared.call("toy:apply", outer) == 0


def test_failure_within_a_callback_fails_the_check() -> None:
    def disagree(x: Any) -> None:
        assert x == "something else"

    with pytest.raises(AssertionError), opened(SOURCE) as candidate:
        candidate.call("toy:tolerant", candidate.callback(disagree), 1)
    with pytest.raises(CandidateFailed, match="expected str"), opened(SOURCE) as candidate:
        candidate.call("toy:tolerant", candidate.callback(lambda x: x.expect(str)), 1)
    with pytest.raises(TaskAuthorError, match="its truth"), opened(SOURCE) as candidate:
        candidate.call("toy:tolerant", candidate.callback(lambda x: not x), 1)


@pytest.mark.parametrize("batch", [1, 3, 100])
def test_iterator_is_fed_and_counted_here(shared: Candidate, batch: int) -> None:
    def items() -> Iterator[str]:
        yield from ("a", "b", "c", "d", "e")
        raise OSError(5, "nonce")

    fed = shared.lines(items(), batch=batch)
    assert shared.call("toy:drain", fed) == (["a", "b", "c", "d", "e"], 5, (5, "nonce"))
    assert fed.pulled == 5
    lazy = shared.iterator(iter(range(1000)))
    assert shared.take(lazy, 4) == [0, 1, 2, 3]
    assert lazy.pulled == 4


RAISED: list[tuple[str, Any, tuple[Any, ...]]] = [
    ("Bad", "toy.errors:Bad", ()),
    ("Bad", "toy.errors:Bad", (1, "x")),
    ("Worse", "toy.errors:Worse", ("a",)),
    ("Odd", "toy.errors:Bad", ()),
    ("NoText", "toy.errors:Bad", ()),
    ("KeyError", KeyError, ((1, 2),)),
    ("Error", csv.Error, ("x",)),
    ("OperationalError", sqlite3.OperationalError, ("x",)),
    ("OSError", PermissionError, (13, "no")),
    ("SystemExit", SystemExit, (0,)),
    ("KeyboardInterrupt", KeyboardInterrupt, ()),
    ("StopIteration", StopIteration, (1,)),
]


@pytest.mark.parametrize(("raised", "expected", "args"), RAISED)
def test_expected_exception_is_caught(shared: Candidate, raised: str, expected: Any, args: tuple[Any, ...]) -> None:
    with shared.raises(expected) as caught:
        shared.call("toy:fail", raised, *args)
    assert caught.args == args
    assert caught.attr("line") == 17


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        ("Worse", "toy.errors:Bad"),
        ("Bad", ValueError),
        ("ValueError", "toy.errors:Bad"),
        ("Both", "toy.errors:Bad"),
        ("Both", KeyError),
        ("KeyError", LookupError),
        ("Bad", Exception),
        ("OSError", ValueError),
        ("SystemExit", BaseException),
    ],
)
def test_other_exception_fails_the_check(raised: str, expected: Any) -> None:
    with (
        pytest.raises(CandidateFailed, match=r"expected .*: it raised"),
        opened(SOURCE) as candidate,
        candidate.raises(expected),
    ):
        candidate.call("toy:fail", raised)


def test_either_of_two_exceptions(shared: Candidate) -> None:
    with shared.raises(KeyError, "toy.errors:Bad") as caught:
        shared.call("toy:fail", "Bad", "text")
    assert caught.text == "text"
    with shared.raises("toy.errors:Bad") as caught:
        shared.call("toy:fail", "NoText")
    assert caught.text == None  # noqa: E711 - the vocabulary


def test_no_exception_fails_the_check() -> None:
    match = "did not raise builtins:KeyError"
    with pytest.raises(CandidateFailed, match=match), opened(SOURCE) as candidate, candidate.raises(KeyError):
        candidate.call("toy:same", 1)


class Unknown(Exception):
    pass


@pytest.mark.parametrize("name", [Unknown, "toy.errors:Bat", "toy:Odd", "builtins:KeyError", int])
def test_unknown_exception_is_the_authors_error(shared: Candidate, name: Any) -> None:
    with pytest.raises(TaskAuthorError):
        shared.raises(name)


def test_block_has_exactly_one_question() -> None:
    match = "first question of a raises block did not raise"
    with pytest.raises(CandidateFailed, match=match), opened(SOURCE) as candidate, candidate.raises(KeyError):
        candidate.call("toy:same", 1)
        candidate.call("toy:fail", "KeyError")
    match = "asked the candidate nothing"
    with pytest.raises(TaskAuthorError, match=match), opened(SOURCE) as candidate, candidate.raises(KeyError):
        pass


def test_swallowing_a_failure_does_not_help() -> None:
    with pytest.raises(CandidateFailed, match="it raised KeyError"), opened(SOURCE) as candidate:
        try:
            candidate.call("toy:fail", "KeyError")
        except CandidateFailed:
            assert candidate.call("toy:same", 1) == 1


def test_check_that_asks_nothing_is_the_authors_error() -> None:
    with pytest.raises(TaskAuthorError, match="asked the candidate nothing"), opened(SOURCE):
        pass


@pytest.mark.parametrize("value", [object(), 1j, type("Sub", (int,), {})(3), lambda: 1, [range(3)]])
def test_value_that_cannot_travel_is_the_authors_error(shared: Candidate, value: Any) -> None:
    with pytest.raises(TaskAuthorError, match="cannot travel"):
        shared.call("toy:same", value)


def test_lanes_park_block_and_go_on(shared: Candidate) -> None:
    box, gate = shared.call("toy:Box"), shared.callback(lambda: shared.PARK)
    first, second = shared.lane(), shared.lane()
    first.start(shared.bound(box, "locked"), gate)
    assert first.state(5.0) == "parked"
    second.start(shared.bound(box, "locked"), shared.callback(lambda: "in"))
    assert second.state(0.3) == "blocked"
    assert shared.len(box) == 0  # the main lane goes on meanwhile
    first.resume("out")
    assert first.state(5.0) == "done"
    assert first.result() == "out"
    assert second.result() == "in"
    first.start("toy:apply", gate)
    assert first.state(5.0) == "parked"
    first.resume_raise(ValueError("nonce"))
    with shared.raises(ValueError) as caught:
        first.result()
    assert caught.args == ("nonce",)
    assert first.call(shared.find("toy:same"), 4) == 4


def test_misuse_of_lanes_is_the_authors_error() -> None:
    with opened(SOURCE) as candidate:
        lane, gate = candidate.lane(), candidate.callback(lambda: candidate.PARK)
        for use in (lane.state, lane.result, lane.resume):
            with pytest.raises(TaskAuthorError, match="no call under way"):
                use()
        lane.start("toy:apply", gate)
        with pytest.raises(TaskAuthorError, match="not fetched"):
            lane.start("toy:same", 1)
        assert lane.state(5.0) == "parked"
        lane.resume(7)
        assert lane.result() == 7


def test_parking_where_nobody_waits_is_the_candidates_failure() -> None:
    with pytest.raises(CandidateFailed, match="in the main lane"), opened(SOURCE) as candidate:
        candidate.call("toy:apply", candidate.callback(lambda: candidate.PARK))
    with pytest.raises(CandidateFailed, match="no result can come"), opened(SOURCE) as candidate:
        lane = candidate.lane()
        lane.start("toy:apply", candidate.callback(lambda: candidate.PARK))
        lane.result()
    with pytest.raises(CandidateFailed, match="has not called what parks"), opened(SOURCE) as candidate:
        lane = candidate.lane()
        lane.start("toy:same", candidate.callback(lambda: candidate.PARK))
        assert lane.state(5.0) == "done"
        lane.resume()


def test_endless_calling_back_and_forth_is_the_candidates_failure() -> None:
    with pytest.raises(CandidateFailed, match="nest too deep"), opened(SOURCE) as candidate:

        def again() -> Any:
            return candidate.call("toy:apply", callback)

        callback = candidate.callback(again)
        candidate.call("toy:apply", callback)


def test_connections_live_in_their_lanes(shared: Candidate) -> None:
    lane = shared.lane()
    mine, other = shared.connect("a.db", timeout=0), shared.connect("a.db", lane=lane, timeout=0)
    assert shared.sql(mine, "create table t (a integer, b text)") == []
    mine.executemany("insert into t values (?, ?)", [(1, "x"), (2**62, None)])
    assert shared.sql(other, "select count(*) from t") == [(0,)]
    mine.commit()
    assert shared.sql(other, "select * from t where a > ?", (1,)) == [(2**62, None)]
    shared.setattr(mine, "row_factory", shared.find("toy:same"))
    shared.setattr(mine, "text_factory", shared.find("toy:Text"))
    assert shared.sql(mine, "select b from t where a = 1") == [("x",)]
    cursor = other.execute("select a from t order by a")
    assert cursor.fetchall() == [(1,), (2**62,)]
    other.execute("begin immediate")
    with shared.raises(sqlite3.OperationalError) as caught:
        shared.sql(mine, "delete from t")
    assert caught.text == "database is locked"
    other.rollback()
    with pytest.raises(TaskAuthorError, match="of lane"):
        lane2 = shared.lane()
        lane2.start("toy:same", other)
    with pytest.raises(TaskAuthorError, match="several lanes"):
        shared.call("toy:same", [1], other, x=shared.connect("a.db", lane=lane2))


def test_scratch_files(shared: Candidate) -> None:
    big = bytes(range(256)) * 10_000
    shared.scratch.write("in/one.csv", b"\xef\xbb\xbfa")
    shared.scratch.write("big", big)
    shared.scratch.write("empty", b"")
    assert shared.scratch.read("in/one.csv") == b"\xef\xbb\xbfa"
    assert shared.scratch.read("big") == big
    assert shared.scratch.list("in") == ["in/one.csv"]
    assert shared.call("os.path:getsize", shared.scratch.path("big")) == len(big)
    assert shared.call("os.path:getsize", "empty") == 0
    shared.scratch.utime("big", 1_000_000.5)
    assert shared.call("os.path:getmtime", "big") == 1_000_000.5
    shared.scratch.remove("big")
    assert shared.scratch.exists("big") == False  # noqa: E712
    assert shared.scratch.exists("empty") == True  # noqa: E712
    for name in ("../x", "/etc/passwd", "a/../../b"):
        with pytest.raises(TaskAuthorError, match="leaves the scratch folder"):
            shared.scratch.read(name)


def test_missing_package_fails_with_a_clear_reason() -> None:
    with (
        pytest.raises(CandidateFailed, match="AttributeError: module 'toy' has no attribute 'nope'"),
        opened("") as candidate,
    ):
        candidate.call("toy:nope")
    with pytest.raises(CandidateFailed, match="ModuleNotFoundError: No module named 'tiy'"), opened("") as candidate:
        candidate.call("tiy:nope")
    with pytest.raises(CandidateFailed, match="SyntaxError"), opened("def") as candidate:
        candidate.call("toy:nope")


def test_reason_is_escaped() -> None:
    source = "class Bad\u0430(Exception): pass\ndef f(): raise Bad\u0430('\\x1b]8;;http://x\\x07\\u202e')\n"
    with pytest.raises(CandidateFailed) as caught, opened(source) as candidate:
        candidate.call("toy:f")
    assert str(caught.value) == "it raised Bad\u0430: \\x1b]8;;http://x\\x07\\u202e"


def test_lent_objects_work_only_while_the_candidate_is_asked() -> None:
    source = """
import threading
def from_thread(f):
    seen = []
    def run():
        try: f()
        except RuntimeError as error: seen.append(str(error))
    thread = threading.Thread(target=run); thread.start(); thread.join()
    return seen
"""
    with opened(source) as candidate:
        late = candidate.callback(lambda: None)
        assert candidate.call("toy:from_thread", late) == ["this object may be used only by the thread that was asked"]
        assert late.calls == []


def test_hanging_candidate_fails_in_time() -> None:
    with (
        pytest.raises(CandidateFailed, match="no answer in time"),
        opened("while True: pass", limits=Limits(0.5, 5)) as hung,
    ):
        hung.call("toy:f")


def test_concluded_or_dismissed_candidate_is_asked_no_more() -> None:
    with opened(SOURCE) as candidate:
        candidate.call("toy:same", 1)
        candidate.conclude()
    with opened(SOURCE) as candidate:
        candidate.dismiss()


def test_a_failed_assertion_says_what_was_asked_of_whom(shared: Candidate) -> None:
    box, three = shared.call("toy:Box"), shared.callback(lambda: 3)
    with pytest.raises(AssertionError) as caught:
        assert box.locked(three) == 4
    assert f"where 3 = locked({three!r})" in str(caught.value)
    assert str(caught.value).endswith("of the candidate, from toy:Box()>.locked")
    with pytest.raises(AssertionError) as caught:
        assert shared.len(box) == 4
    assert f"where 0 = len({box!r})" in str(caught.value)
    assert "where len = candidate.len" in str(caught.value) and "0x" not in str(caught.value)
