"""Which attempts, in which order: a frozen list made before anything runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import gcd
from typing import Literal

from pytest_agentgrade.wording import counted


@dataclass(frozen=True, order=True)
class AttemptKey:
    """What names one attempt: task x mode x seed x repeat x response budget."""

    task: str
    mode: str
    seed: int
    """The seed as the user gave it."""
    repeat: int
    """0 for the first; a repeat r > 0 samples with a seed derived from (seed, r)."""
    response_tokens: int
    label: str
    """``mode-seed``, with ``-rN`` and ``-bN`` where they vary: the bracketed part of a node id."""

    @property
    def sampling_seed(self) -> int:
        """The seed every request of the attempt is sent with, 0 <= seed < 2**31."""
        if self.repeat == 0:
            return self.seed
        digest = hashlib.sha256(f"agentgrade repeat {self.seed} {self.repeat}".encode()).digest()
        return int.from_bytes(digest[:4], "big") >> 1

    def __str__(self) -> str:
        return f"{self.task}[{self.label}]"


@dataclass(frozen=True)
class Plan:
    """All attempts of a run in the order they are to run."""

    keys: tuple[AttemptKey, ...]
    order: str

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the list: the same plan, the same digest."""
        return hashlib.sha256(json.dumps([asdict(key) for key in self.keys]).encode()).hexdigest()

    def position(self, key: AttemptKey) -> int:
        """Index of ``key`` in the plan; ValueError when it is not part of it."""
        return self.keys.index(key)


def make_plan(
    tasks: Sequence[str],
    modes: Sequence[str],
    seeds: Sequence[int],
    repeats: int,
    budgets: Sequence[int],
    order: Literal["balanced", "by-seed", "blocked"],
) -> Plan:
    """Cross all factors.

    ``balanced``: the modes of a cell run next to each other, and who goes first rotates from one task, seed, repeat
    and budget to the next: A B, then B A. ``by-seed``: the same for all tasks, so that with one seed a mode is always
    first. ``blocked``: all attempts of one mode, then all of the next.
    """
    cells = [
        (task, seed, repeat, budget, _turn((at, seed_at, repeat, budget_at), (len(seeds), repeats), len(modes)))
        for seed_at, seed in enumerate(seeds)
        for repeat in range(repeats)
        for budget_at, budget in enumerate(budgets)
        for task_at, task in enumerate(tasks)
        for at in [0 if order == "by-seed" else task_at]
    ]
    if order == "blocked":
        pairs = [(cell, mode) for mode in modes for cell in cells]
    else:
        pairs = [(cell, mode) for cell in cells for mode in _rotated(modes, cell[4])]
    keys = tuple(
        AttemptKey(task, mode, seed, repeat, budget, _label(mode, seed, repeat, budget, len(budgets) > 1))
        for (task, seed, repeat, budget, _), mode in pairs
    )
    return Plan(keys, order)


def keys_in_order(plan: Plan, chosen: Iterable[AttemptKey]) -> tuple[AttemptKey, ...]:
    """The chosen attempts in plan order."""
    wanted = set(chosen)
    return tuple(key for key in plan.keys if key in wanted)


def plan_lines(plan: Plan, chosen: Iterable[AttemptKey]) -> list[str]:
    """The chosen attempts for people: numbered, in the order in which they run."""
    keys = keys_in_order(plan, chosen)
    width = len(str(len(keys)))
    count = f"{len(keys)}" if len(keys) == len(plan.keys) else f"{len(keys)} of {len(plan.keys)}"
    attempts = "attempt" if len(plan.keys) == 1 else "attempts"
    head = f"agentgrade: plan of {count} {attempts}, {plan.order} order, {plan.digest[:12]}"
    return [head, *(f"  {number:{width}d}. {key}" for number, key in enumerate(keys, 1))]


def order_notes(plan: Plan, server_restart: str) -> list[str]:
    """What a user should know about this order together with the time at which servers are restarted."""
    modes = [key.mode for key in plan.keys]
    if server_restart != "mode" or len(set(modes)) < 2:
        return []
    kept = sum(one == other for one, other in pairwise(modes))
    if plan.order == "blocked":
        use = f"{counted(kept, 'attempt')} {'uses' if kept == 1 else 'use'}"
        return [f"{use} the server of the one before; modes that run apart make blocked pairs"]
    hint = "--agent-order=blocked keeps more and proves less"
    few = f"{kept} of {len(modes)} attempts keep one"
    return [f"server_restart=mode makes little sense in balanced order: {few} ({hint})"]


def _turn(place: tuple[int, int, int, int], sizes: tuple[int, int], modes: int) -> int:
    """Which rotation of the modes the cell at ``place`` (task, seed, repeat, budget) has; ``sizes``: seeds, repeats.

    At each budget, over all cells and within each task, no two modes lead more than once more often than each other;
    with one repeat within each seed too, and with two or three modes within any choice of tasks, seeds, repeats and
    budgets. With more modes, repeats and budgets at once a seed's leads may be further apart: ``tests/test_plan.py``.
    """
    task, seed, repeat, budget = place
    seeds, repeats = sizes
    return _start(task, seeds * repeats, modes) + _start(seed, repeats, modes) + repeat + budget


def _start(block: int, size: int, modes: int) -> int:
    """Where a block of ``size`` turns begins: behind the one before, and one further as soon as starts recur.

    Without that step each block of a size that the number of modes divides would begin with the same mode.
    """
    common = gcd(size, modes)
    return block * size + (block * common // modes if common > 1 else 0)


def _rotated(modes: Sequence[str], turn: int) -> list[str]:
    """The mode of that turn first, the others forwards or backwards from it.

    Forwards alone A would run before B in two of three cells of A, B and C: rotating who is first does not make each
    *two* modes swap places.
    """
    count = len(modes)
    backwards = (turn + (turn // count if count % 2 == 0 else 0)) % 2
    return [modes[(turn + (-place if backwards else place)) % count] for place in range(count)]


def _label(mode: str, seed: int, repeat: int, budget: int, budgets_vary: bool) -> str:
    label = f"{mode}-{seed}"
    if repeat:
        label += f"-r{repeat}"
    return f"{label}-b{budget}" if budgets_vary else label
