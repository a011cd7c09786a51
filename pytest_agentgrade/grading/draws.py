"""Which random inputs a check uses: the first that tell its wrong solutions from the right one."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.errors import Fault, HostError, TaskAuthorError
from pytest_agentgrade.grading.candidate import Candidate
from pytest_agentgrade.grading.draw import Draw
from pytest_agentgrade.grading.local import LocalTransport
from pytest_agentgrade.grading.session import Limits
from pytest_agentgrade.grading.solutions import REFERENCE, solution_tree
from pytest_agentgrade.grading.suite import Check
from pytest_agentgrade.grading.verdict import Outcome, Verdict, classify
from pytest_agentgrade.submission.tree import Tree

__all__ = ["ChosenDraw", "Draw", "choose_draw", "choose_draws", "derive_seed", "try_solution", "try_tree"]

WORKERS = 4
"""More than there are cores: some solutions are wrong in that somebody waits for ever."""


@dataclass(frozen=True)
class ChosenDraw:
    """The inputs of one check, the same for all candidates of a run."""

    check: str
    n: int
    """How many draws were turned down before."""
    seed: int


def derive_seed(run_key: bytes, task_digest: str, check: str, n: int) -> int:
    """The ``n``-th seed of a check: 128 bits of HMAC-SHA256, unknown without the run's key."""
    what = f"{task_digest}/{check}/{n}".encode()
    return int.from_bytes(hmac.new(run_key, what, hashlib.sha256).digest()[:16], "big")


def choose_draws(
    checks: Iterable[Check], task: Task, run_key: bytes, chosen: Callable[[int], None] | None = None
) -> list[ChosenDraw]:
    """One for each check, in their order: see :func:`choose_draw`. ``chosen`` hears how many there are by now."""
    found: list[ChosenDraw] = []
    with ThreadPoolExecutor(WORKERS) as workers:
        for draw in workers.map(lambda check: choose_draw(check, task, run_key), checks):
            found.append(draw)
            if chosen is not None:
                chosen(len(found))
    return found


def choose_draw(check: Check, task: Task, run_key: bytes, *, limit: int = 64) -> ChosenDraw:
    """The first draw on which the reference passes and every solution of ``@kills`` fails.

    The solutions are the author's own and run as plain local processes. Raises TaskAuthorError when none of
    ``limit`` draws will do, or when a check is wrong in itself.
    """
    trouble: dict[str, int] = {}
    for n in range(limit):
        seed = derive_seed(run_key, task.digest, check.name, n)
        wrong = misjudged(check, task, n, seed)
        if not wrong:
            return ChosenDraw(check.name, n, seed)
        for name in wrong:
            trouble[name] = trouble.get(name, 0) + 1
    worst = ", ".join(f"{name} in {count}" for name, count in sorted(trouble.items(), key=lambda item: -item[1]))
    raise TaskAuthorError(f"{task.name}: {check.name} misjudges {worst} of {limit} draws", "make it more telling")


def try_solution(check: Check, task: Task, solution: str, n: int, seed: int) -> Verdict:
    """Run a check on one of the author's solutions, in a plain local process."""
    return try_tree(check, task, solution_tree(task, solution), n, seed)


def try_tree(check: Check, task: Task, tree: Tree, n: int, seed: int) -> Verdict:
    """Run a check on a trusted tree, in a plain local process."""
    started = time.monotonic()
    found: BaseException | None = None
    transport = LocalTransport()
    try:
        with Candidate(transport, task, tree, seed, Limits()) as candidate:
            check.function(candidate)
    except BaseException as error:
        found = error
    finally:
        transport.close()
    seconds = time.monotonic() - started
    outcome, reason, fault = classify(found)
    return Verdict(check.name, check.beyond, outcome, reason, seconds, n, seed, fault)


def misjudged(check: Check, task: Task, n: int, seed: int) -> Sequence[str]:
    """The solutions on which a check says the wrong thing with this draw: the reference, or some of ``@kills``.

    Raises TaskAuthorError when the check breaks.
    """
    names = (REFERENCE, *check.kills)
    verdicts = [try_solution(check, task, name, n, seed) for name in names]
    for name, verdict in zip(names, verdicts, strict=True):
        if verdict.outcome is Outcome.ERROR:
            kind = HostError if verdict.fault is Fault.HOST else TaskAuthorError
            raise kind(f"{task.name}: {check.name} breaks on {name}: {verdict.reason}")
    wanted = (Outcome.PASSED, *(Outcome.FAILED for _ in check.kills))
    return [name for name, verdict, want in zip(names, verdicts, wanted, strict=True) if verdict.outcome is not want]
