"""Do the statistics keep their promises? Simulated experiments of 4 tasks x 2, 5 and 20 seeds, with the truth known.

    python tools/simulate_statistics.py                      # 10,000 experiments a line, as in docs/statistics.md
    python tools/simulate_statistics.py --experiments 500    # a quick look

Then three modes, to see what Holm's correction does, and more tasks drawn from populations of them. The tests,
intervals and the power are the package's own; only the attempts are made up. Everything is seeded.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from simulated_attempts import Attempts, Scenario, Truth, discordant, simulate, truth
from simulated_families import THREE_MODES, measure_family
from simulated_populations import POPULATIONS, TASKS, Population, measure_population

from pytest_agentgrade.analysis.figures import Disagreement
from pytest_agentgrade.analysis.intervals import Floats, bounded_mean_limits, exact_share
from pytest_agentgrade.analysis.mcnemar import ALPHA, exact_p, power
from pytest_agentgrade.analysis.noise import noise_floor
from pytest_agentgrade.analysis.paired_times import prentice_scores
from pytest_agentgrade.analysis.patch_rate import contributions, rate_difference_limits, rate_difference_p
from pytest_agentgrade.analysis.sign_flips import sign_flip_p
from pytest_agentgrade.analysis.success_difference import difference_interval

SEEDS = (2, 5, 20)
BLOCK = 500
DRAWS, BITS = 2_000, 11
"""Resampling within an experiment; the package itself uses 10,000 draws, and 2**13 exchanges."""
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
class Measured:
    """Shares of experiments, 0..1."""

    claims: float
    """The verdict names a winner."""
    per_hour_claims: float
    """More patches per hour: test and interval agree."""
    either: float
    time_claims: float
    above_floor: float
    """The observed difference is larger than the noise floor that seeds of both modes tell."""
    power: float
    """What :func:`power` says of ``claims``."""
    coverage: dict[str, float]


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
        above_floor=shares.pop("above floor"),
        power=power(4 * seeds, known.first_only, known.second_only),
        coverage=shares,
    )


def _claims(first: Attempts, second: Attempts, seeds: int) -> dict[str, NDArray[np.bool_]]:
    table = discordant(first, second)
    winner = np.array([exact_p(*cells) <= ALPHA for cells in table])
    columns = (first.success, first.seconds, second.success, second.seconds)
    low, high = rate_difference_limits(*columns, draws=DRAWS).T
    per_hour = (rate_difference_p(*columns, bits=BITS) <= ALPHA) & ((low > 0) | (high < 0))
    times = sign_flip_p(_score_differences(first, second, seeds), bits=BITS) <= ALPHA
    above = _above_floor(first, second, seeds)
    return {"claims": winner, "per hour": per_hour, "either": winner | per_hour, "times": times, "above floor": above}


def _above_floor(first: Attempts, second: Attempts, seeds: int) -> NDArray[np.bool_]:
    """As :func:`repeats_disagreement` and :func:`noise_floor` do it, from counts of successes by mode and task."""
    counts = np.concatenate([_tasks(one.success, seeds).sum(axis=1).reshape(-1, 4) for one in (first, second)], axis=1)
    differ = (counts * (seeds - counts) / (seeds * (seeds - 1) / 2)).mean(axis=1)
    observed = (second.success - first.success).mean(axis=1)
    independent = counts.shape[1] * (seeds - 1)
    found = zip(differ.round(9).tolist(), observed.tolist(), strict=True)
    return np.array([_floor(one, independent, 4 * seeds) < abs(gap) - 1e-9 for one, gap in found])


@lru_cache(maxsize=100_000)
def _floor(differ: float, independent: int, pairs: int) -> float:
    return noise_floor(Disagreement("repeats", (), 0, independent, differ, 0.0), pairs, 0.0).floor


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
        "difference": np.array([known.difference in difference_interval(*c, pairs) for c in discordant(first, second)]),
        "share of checks": _holds(bounded_mean_limits(second.share, zeros, ones, draws=DRAWS), known.share),
        "its difference": _holds(gaps, known.share_difference),
        "patches/hour": _holds(around, known.rate),
        "their difference": _holds(rate_difference_limits(*columns, draws=DRAWS), known.rate_difference),
    }


_share = lru_cache(maxsize=1024)(exact_share)


def _holds(limits: Floats, value: float) -> NDArray[np.bool_]:
    return (limits[:, 0] <= value) & (value <= limits[:, 1])


def report(experiments: int) -> Iterator[str]:
    """The tables as Markdown lines."""
    measured = {(s, n): measure(s, n, experiments) for s in (*NO_DIFFERENCE, *DIFFERENCE) for n in SEEDS}
    yield from _table(
        (
            "no true difference",
            "seeds",
            "winner named",
            "patches/hour claimed",
            "either",
            "times differ",
            "above noise floor",
        ),
        [
            (s.name, n, m.claims, m.per_hour_claims, m.either, m.time_claims, m.above_floor)
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
    families = [(s, n, measure_family(s, n, experiments)) for s in THREE_MODES for n in SEEDS]
    yield from _table(
        ("three modes", "seeds", "any false claim", "without correction", "true one found", "power as computed"),
        [(s.name, n, f.any_false, f.uncorrected, f.found, f.power) for s, n, f in families],
    )
    yield from _table(
        ("tasks drawn from a population", "tasks", *(f"{n} seeds" for n in SEEDS), "leaves out 0 (20 seeds)"),
        [(one.name, tasks, *_population_row(one, tasks, experiments)) for one in POPULATIONS for tasks in TASKS],
    )


def _population_row(population: Population, tasks: int, experiments: int) -> list[float]:
    found = [measure_population(population, tasks, seeds, experiments) for seeds in SEEDS]
    return [*(coverage for coverage, _ in found), found[-1][1]]


def _table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> Iterator[str]:
    yield from ("| " + " | ".join(head) + " |", "|---" * len(head) + "|")
    for row in rows:
        yield "| " + " | ".join(map(_cell, row)) + " |"
    yield ""


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f} %" if isinstance(value, float) else str(value)


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=10_000, help="experiments a line (default %(default)s)")
    for line in report(parser.parse_args().experiments):
        print(line)


if __name__ == "__main__":
    main()
