"""Do the statistics keep their promises? Simulated experiments of 4 tasks x 2, 5 and 20 seeds, with the truth known.

    python tools/simulate_statistics.py                      # 10,000 experiments a line, as in docs/statistics.md
    python tools/simulate_statistics.py --experiments 500    # a quick look

The tests, intervals and the power are the package's own; only the attempts are made up. Everything is seeded.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pytest_agentgrade.analysis.intervals import Floats, bounded_mean_limits, exact_share
from pytest_agentgrade.analysis.mcnemar import ALPHA, exact_p, power
from pytest_agentgrade.analysis.paired_times import prentice_scores
from pytest_agentgrade.analysis.patch_rate import contributions, rate_difference_limits, rate_difference_p
from pytest_agentgrade.analysis.sign_flips import sign_flip_p
from pytest_agentgrade.analysis.success_difference import difference_interval

SEEDS = (2, 5, 20)
BLOCK = 500
DRAWS, BITS = 2_000, 11
"""Resampling within an experiment; the package itself uses 10,000 draws, and 2**13 exchanges."""
TASK_CLOCK = 480.0
CHECKS_WHEN_FAILED = 0.3
"""Chance of each of eight checks when an attempt fails; one more always passes, one never."""


@dataclass(frozen=True)
class Scenario:
    """The truth of a simulated experiment, for each of the four tasks."""

    name: str
    first: tuple[float, ...]
    """Success rates of the first mode."""
    second: tuple[float, ...]
    correlation: float
    """Of the two attempts of a pair, on the scale of the latent normal variable; times share it."""
    pace: float = 1.0
    """Time the second mode takes, as a share of the first's."""

    @property
    def no_difference(self) -> bool:
        """Nothing at all differs: every claim is a false one."""
        return self.first == self.second and self.pace == 1.0


NO_DIFFERENCE = (
    Scenario("alike tasks", (0.5, 0.5, 0.5, 0.5), (0.5, 0.5, 0.5, 0.5), 0.0),
    Scenario("mixed tasks, correlated pairs", (0.05, 0.3, 0.7, 0.95), (0.05, 0.3, 0.7, 0.95), 0.5),
    Scenario("rare successes", (0.02, 0.05, 0.1, 0.2), (0.02, 0.05, 0.1, 0.2), 0.3),
    Scenario("as the study (easy, hopeless x 2, half)", (0.98, 0.01, 0.01, 0.5), (0.98, 0.01, 0.01, 0.5), 0.3),
)
DIFFERENCE = (
    Scenario("better by 20 points, mixed tasks", (0.05, 0.3, 0.6, 0.75), (0.25, 0.5, 0.8, 0.95), 0.3),
    Scenario("better by 45 points", (0.1, 0.3, 0.4, 0.5), (0.6, 0.75, 0.8, 0.95), 0.3),
    Scenario("only one task better, quicker", (0.02, 0.9, 0.3, 0.1), (0.02, 0.9, 0.9, 0.1), 0.5, 0.7),
    Scenario("opposed tasks, same mean", (0.2, 0.4, 0.6, 0.8), (0.8, 0.6, 0.4, 0.2), 0.3),
)


@dataclass(frozen=True)
class Attempts:
    """One mode's attempts of m experiments; all arrays of shape (m, 4 x seeds), tasks one after the other."""

    success: Floats
    seconds: Floats
    limited: NDArray[np.bool_]
    share: Floats


@dataclass(frozen=True)
class Truth:
    """What is being estimated."""

    success: float
    difference: float
    share: float
    share_difference: float
    rate: float
    rate_difference: float
    first_only: float
    second_only: float


@dataclass(frozen=True)
class Measured:
    """Shares of experiments, 0..1."""

    claims: float
    """The verdict names a winner."""
    per_hour_claims: float
    """More patches per hour: test and interval agree."""
    either: float
    time_claims: float
    power: float
    """What :func:`power` says of ``claims``."""
    coverage: dict[str, float]


def simulate(scenario: Scenario, seeds: int, experiments: int, rng: np.random.Generator) -> tuple[Attempts, Attempts]:
    """Attempts of both modes, pairs in the same place."""
    shape = (experiments, len(scenario.first) * seeds)
    shared = rng.standard_normal((2, *shape))
    return (
        _attempts(scenario.first, 1.0, scenario.correlation, seeds, shared, rng),
        _attempts(scenario.second, scenario.pace, scenario.correlation, seeds, shared, rng),
    )


def _attempts(
    chances: tuple[float, ...], pace: float, correlation: float, seeds: int, shared: Floats, rng: np.random.Generator
) -> Attempts:
    own = rng.standard_normal(shared.shape)
    skill, haste = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    success = special.ndtr(skill) < np.repeat(chances, seeds)
    base = np.repeat(np.linspace(120.0, 330.0, len(chances)), seeds)
    wanted = pace * base * np.exp(0.4 * haste + np.where(success, 0.0, 0.4))
    out_of_tokens = ~success & (rng.random(success.shape) < 0.5)
    some = (1 + rng.binomial(8, CHECKS_WHEN_FAILED, success.shape)) / 10
    return Attempts(
        success=success.astype(np.float64),
        seconds=np.minimum(wanted, TASK_CLOCK),
        limited=(wanted > TASK_CLOCK) | out_of_tokens,
        share=np.where(success, 1.0, some),
    )


@lru_cache(maxsize=32)
def truth(scenario: Scenario) -> Truth:
    """From the scenario; times and discordance from 200,000 attempts at each task."""
    first, second = simulate(scenario, 200_000, 1, np.random.default_rng(7))
    success = float(np.mean(scenario.second))
    difference = success - float(np.mean(scenario.first))
    rate, first_rate = 3600 * success / second.seconds.mean(), 3600 * (success - difference) / first.seconds.mean()
    failed_share = (1 + 8 * CHECKS_WHEN_FAILED) / 10
    return Truth(
        success=success,
        difference=difference,
        share=success + (1 - success) * failed_share,
        share_difference=difference * (1 - failed_share),
        rate=float(rate),
        rate_difference=float(rate - first_rate),
        first_only=float((first.success > second.success).mean()),
        second_only=float((second.success > first.success).mean()),
    )


def measure(scenario: Scenario, seeds: int, experiments: int) -> Measured:
    """Run the package's statistics on simulated experiments."""
    rng = np.random.default_rng([seeds, *scenario.name.encode()])
    blocks = []
    for start in range(0, experiments, BLOCK):
        first, second = simulate(scenario, seeds, min(BLOCK, experiments - start), rng)
        blocks.append({**_claims(first, second, seeds), **_coverage(first, second, truth(scenario))})
    shares = {name: float(np.concatenate([block[name] for block in blocks]).mean()) for name in blocks[0]}
    known = truth(scenario)
    return Measured(
        claims=shares.pop("claims"),
        per_hour_claims=shares.pop("per hour"),
        either=shares.pop("either"),
        time_claims=shares.pop("times"),
        power=power(4 * seeds, known.first_only, known.second_only),
        coverage=shares,
    )


def _claims(first: Attempts, second: Attempts, seeds: int) -> dict[str, NDArray[np.bool_]]:
    table = _discordant(first, second)
    winner = np.array([exact_p(*cells) <= ALPHA for cells in table])
    columns = (first.success, first.seconds, second.success, second.seconds)
    low, high = rate_difference_limits(*columns, draws=DRAWS).T
    per_hour = (rate_difference_p(*columns, bits=BITS) <= ALPHA) & ((low > 0) | (high < 0))
    times = sign_flip_p(_score_differences(first, second, seeds), bits=BITS) <= ALPHA
    return {"claims": winner, "per hour": per_hour, "either": winner | per_hour, "times": times}


def _score_differences(first: Attempts, second: Attempts, seeds: int) -> Floats:
    seconds = np.concatenate([_tasks(first.seconds, seeds), _tasks(second.seconds, seeds)], axis=1)
    limited = np.concatenate([_tasks(first.limited, seeds), _tasks(second.limited, seeds)], axis=1)
    scores = np.array([prentice_scores(*stratum) for stratum in zip(seconds, limited, strict=True)])
    return np.asarray((scores[:, seeds:] - scores[:, :seeds]).reshape(first.seconds.shape), dtype=np.float64)


def _tasks(values: NDArray[np.generic], seeds: int) -> NDArray[np.generic]:
    return values.reshape(-1, seeds)


def _coverage(first: Attempts, second: Attempts, known: Truth) -> dict[str, NDArray[np.bool_]]:
    pairs = first.success.shape[1]
    ones, zeros = np.ones(len(first.success)), np.zeros(len(first.success))
    parts, low, high = contributions(second.success, second.seconds)
    rate = 3600 * second.success.sum(axis=1) / second.seconds.sum(axis=1)
    around = bounded_mean_limits(parts, low, high, draws=DRAWS) + rate[:, np.newaxis]
    columns = (first.success, first.seconds, second.success, second.seconds)
    gaps = bounded_mean_limits(second.share - first.share, -ones, ones, draws=DRAWS)
    return {
        "success rate": np.array([known.success in _share(int(s), pairs) for s in second.success.sum(axis=1)]),
        "difference": np.array(
            [known.difference in difference_interval(*c, pairs) for c in _discordant(first, second)]
        ),
        "share of checks": _holds(bounded_mean_limits(second.share, zeros, ones, draws=DRAWS), known.share),
        "its difference": _holds(gaps, known.share_difference),
        "patches/hour": _holds(around, known.rate),
        "their difference": _holds(rate_difference_limits(*columns, draws=DRAWS), known.rate_difference),
    }


_share = lru_cache(maxsize=1024)(exact_share)


def _holds(limits: Floats, value: float) -> NDArray[np.bool_]:
    return (limits[:, 0] <= value) & (value <= limits[:, 1])


def _discordant(first: Attempts, second: Attempts) -> list[tuple[int, int]]:
    first_only = (first.success > second.success).sum(axis=1).tolist()
    return list(zip(first_only, (second.success > first.success).sum(axis=1).tolist(), strict=True))


def report(experiments: int) -> Iterator[str]:
    """The tables as Markdown lines."""
    measured = {(s, n): measure(s, n, experiments) for s in (*NO_DIFFERENCE, *DIFFERENCE) for n in SEEDS}
    yield from _table(
        ("no true difference", "seeds", "winner named", "patches/hour claimed", "either", "times differ"),
        [
            (s.name, n, m.claims, m.per_hour_claims, m.either, m.time_claims)
            for (s, n), m in measured.items()
            if s.no_difference
        ],
    )
    names = tuple(next(iter(measured.values())).coverage)
    yield from _table(
        ("coverage of the 95 % intervals", "seeds", *names),
        [(s.name, n, *m.coverage.values()) for (s, n), m in measured.items()],
    )
    yield from _table(
        ("a true difference", "seeds", "winner named", "power as computed"),
        [(s.name, n, m.claims, m.power) for (s, n), m in measured.items() if not s.no_difference],
    )


def _table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> Iterator[str]:
    yield from ("| " + " | ".join(head) + " |", "|---" * len(head) + "|")
    for row in rows:
        yield "| " + " | ".join(f"{100 * cell:.1f} %" if isinstance(cell, float) else str(cell) for cell in row) + " |"
    yield ""


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=10_000, help="experiments a line (default %(default)s)")
    for line in report(parser.parse_args().experiments):
        print(line)


if __name__ == "__main__":
    main()
