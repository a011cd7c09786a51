"""A task small enough to read at a glance, made in memory, with three checks."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.checks import Candidate
from pytest_agentgrade.grading.draws import ChosenDraw
from pytest_agentgrade.grading.local import LocalTransport
from pytest_agentgrade.grading.session import Limits
from pytest_agentgrade.grading.suite import Check
from pytest_agentgrade.submission.tree import Tree, TreeFile

ERRORS = b"class Bad(ValueError):\n    pass\n\n\nclass Worse(Bad):\n    pass\n"
RIGHT = """
from toy.errors import Bad

def total(numbers):
    result = 0
    for number in numbers:
        result += number
    return result

def parse(text):
    if not text.isascii() or not text.isdigit():
        raise Bad(text)
    return int(text)

class Stamps:
    def __init__(self, clock):
        self._clock = clock
        self._times = {}

    def mark(self, key):
        self._times[key] = self._clock()

    def when(self, key):
        return self._times[key]

    def __contains__(self, key):
        return key in self._times
"""
UNTOUCHED = "def total(numbers): ...\ndef parse(text): ...\nclass Stamps: ...\n"


def tree(source: str | bytes) -> Tree:
    """The toy package with this ``__init__.py``."""
    data = source.encode() if isinstance(source, str) else source
    return Tree({"toy/__init__.py": TreeFile(data), "toy/errors.py": TreeFile(ERRORS)})


def make_task(folder: Path = Path("/nowhere")) -> Task:
    """The toy task; its folders need not exist."""
    return Task(
        name="toy", title="Toy", package="toy", prompt="Make it work.", editable=("toy/*.py",),
        protected=("toy/errors.py",), tests=("tests/*",), test_command=("python3", "-m", "unittest"),
        base=tree(UNTOUCHED), folder=folder / "task_fixtures" / "toy", checks_folder=folder / "hidden_checks" / "toy",
    )  # fmt: skip


@contextmanager
def opened(source: str, seed: int = 7, limits: Limits | None = None) -> Generator[Candidate, None, None]:
    """A candidate in a local process."""
    transport = LocalTransport()
    try:
        with Candidate(transport, make_task(), tree(source), seed, limits) as candidate:
            yield candidate
    finally:
        transport.close()


def check_total(candidate: Candidate) -> None:
    numbers = [candidate.draw.integer(-(10**9), 10**9) for _ in range(candidate.draw.integer(3, 9))]
    fed = candidate.iterator(numbers)
    assert candidate.call("toy:total", fed) == sum(numbers)
    assert fed.pulled == len(numbers)


def check_parse(candidate: Candidate) -> None:
    number, text = candidate.draw.integer(2, 10**6), candidate.draw.text()
    with candidate.raises("toy.errors:Bad") as caught:
        candidate.call("toy:parse", text)
    assert caught.args == (text,)
    assert candidate.call("toy:parse", str(number)) == number


def check_stamps(candidate: Candidate) -> None:
    key, other = candidate.draw.texts(2)
    now = candidate.draw.integer(10**9, 10**12)
    clock = candidate.callback(lambda: now)
    stamps = candidate.call("toy:Stamps", clock)
    stamps.mark(key)
    assert len(clock.calls) == 1
    assert stamps.when(key) == now
    assert candidate.contains(stamps, key) == True  # noqa: E712 - the vocabulary
    assert candidate.contains(stamps, other) == False  # noqa: E712
    with candidate.raises(KeyError):
        stamps.when(other)


CHECKS = tuple(
    Check("toy", function.__name__, function, ("untouched",), beyond=False)
    for function in (check_total, check_parse, check_stamps)
)


def draw(check: Check, seed: int = 11) -> ChosenDraw:
    """Inputs for a check."""
    return ChosenDraw(check.name, 0, seed)


def as_check(function: Callable[[Candidate], None]) -> Check:
    """Any function as a check."""
    return Check("toy", function.__name__, function, (), beyond=False)
