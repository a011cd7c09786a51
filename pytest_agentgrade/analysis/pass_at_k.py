"""pass@k: the chance that at least one of k attempts at a task succeeds."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from pytest_agentgrade.analysis.paired import Outcome, by_task


def pass_at_k(successes: int, attempts: int, k: int) -> float:
    """Unbiased estimate 1 - C(n - c, k) / C(n, k) for one task; ValueError unless 1 <= k <= attempts.

    Chen et al. 2021, "Evaluating large language models trained on code", equation 1.
    """
    if not 1 <= k <= attempts:
        raise ValueError(f"pass@{k} needs at least {k} attempts at the task, there are {attempts}")
    return 1.0 - comb(attempts - successes, k) / comb(attempts, k)


def mean_pass_at_k(attempts: Sequence[tuple[str, Outcome]]) -> dict[int, float]:
    """k -> mean over tasks, from (task, outcome) of all seeds and repeats; k up to the fewest attempts at a task."""
    tasks = by_task(attempts).values()
    counts = [(sum(one.success for one in outcomes), len(outcomes)) for outcomes in tasks]
    most = min((attempts for _, attempts in counts), default=0)
    return {k: sum(pass_at_k(c, n, k) for c, n in counts) / len(counts) for k in range(1, most + 1)}
