"""No candidate can turn its failure into somebody else's error: whatever it returns, raises or calls back with."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_agentgrade.assignment.catalog import load_tasks, task_names
from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.grading.candidate import Candidate
from pytest_agentgrade.grading.draws import derive_seed
from pytest_agentgrade.grading.local import LocalTransport
from pytest_agentgrade.grading.session import Limits
from pytest_agentgrade.grading.suite import Check, load_checks
from pytest_agentgrade.grading.verdict import Outcome, classify
from pytest_agentgrade.submission.tree import TreeFile

ROOT = Path(__file__).parents[2]
COMMON = """
def lent(values):
    for value in values:
        if isinstance(value, dict): yield from lent(value.values())
        elif isinstance(value, (list, tuple)): yield from lent(value)
        elif callable(value) and not isinstance(value, type): yield value

def poke(values, junk):
    for function in lent(values):
        for arguments in junk:
            try: function(*arguments)
            except Exception: pass
    for value in values:
        if hasattr(value, "__next__"):
            try: list(value)
            except Exception: pass

def beyond_caps(value):
    import sys  # the driver would not send such a value by itself
    frame = sys._getframe()
    while "encode_many" not in frame.f_globals: frame = frame.f_back
    frame.f_globals["encode_many"].__globals__.update(MAX_FRAME=10**9, MAX_DIGITS=10**9)
    return value

class Odd:
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return f
    def __len__(self): return 3
    def __contains__(self, item): return True
    def __getitem__(self, key): return Odd()
    def __iter__(self): return iter([Odd(), 1, "a", None])
    def __enter__(self): return 5
    def __exit__(self, *a): return Odd()

def __getattr__(name):
    if name.startswith("__"): raise AttributeError(name)
    return f
"""
ODD = {
    "objects": "def f(*a, **k): poke([*a, *k.values()], [(Odd(), Odd()), ('zz', 'zz'), ()]); return Odd()",
    "names": "def f(*a, **k): poke([*a, *k.values()], [('zz', 'zz')]); return ['zz'] if a else Odd()",
    "errors": "def f(*a, **k): poke([*a, *k.values()], [(None,), ([], {})]); raise OSError(5, 'x')",
    "large": "import datetime\ndef f(*a, **k): return beyond_caps([datetime.date.max] * 30_000 + ['x' * 3_300_000])",
    "digits": "import decimal\ndef f(*a, **k): return beyond_caps(decimal.Decimal('1' * 100_020))",
    "mixture": "def f(*a, **k): return [1, 'a', None, Odd(), [Odd()], {Odd(): 1}]",
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", task_names(ROOT / "task_fixtures"))
def test_odd_candidate_fails_and_breaks_nothing(name: str, kind: str) -> None:
    (task,) = load_tasks(Settings.model_validate({}), ROOT, [name])
    odd = TreeFile((COMMON + ODD[kind]).encode())
    tree = task.base.with_files({path: odd for path in task.base if task.is_editable(path)})

    def outcome(check: Check) -> tuple[str, Outcome, str]:
        transport = LocalTransport()
        try:
            seed = derive_seed(b"odd", task.digest, check.name, 0)
            with Candidate(transport, task, tree, seed, Limits(question=10, check=30)) as candidate:
                check.function(candidate)
        except Exception as error:
            found = classify(error)
            return check.name, found.outcome, found.reason
        finally:
            transport.close()
        return check.name, Outcome.PASSED, ""

    with ThreadPoolExecutor(2) as workers:
        ends = list(workers.map(outcome, load_checks(task)))
    assert [end for end in ends if end[1] is not Outcome.FAILED] == []
