"""How much tok/s and patches per hour differ when nothing that matters was changed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, mean

from scipy import special

from pytest_agentgrade.analysis.intervals import LEVEL
from pytest_agentgrade.analysis.noise_figures import PlaceboRatio, RateNoise, RateSpread, SpeedNoise
from pytest_agentgrade.analysis.paired import by_task, outcome
from pytest_agentgrade.analysis.patch_rate import patches_per_hour
from pytest_agentgrade.records.model import AttemptRecord

FEWEST = 3
"""Attempts beyond the first of each task and mode: with fewer, nobody can say how speeds scatter."""
_FEWEST_IN_A_DRAW = 2
"""Attempts of one seed and repeat: patches per hour of a single attempt are no rate."""

RecordPairs = Sequence[tuple[AttemptRecord, AttemptRecord]]
PlaceboPairs = Sequence[tuple[str, str, RecordPairs]]
"""Mode, its placebo, and their pairs."""


def speed_noise(
    modes: Sequence[Sequence[AttemptRecord]], pairs: RecordPairs, placebos: PlaceboPairs
) -> SpeedNoise | None:
    """Of tok/s: from the counted attempts of the two modes of a comparison, its pairs, and its modes' placebos.

    None when no pair has a speed on both sides.
    """
    ratios = _log_ratios(pairs)
    if not ratios:
        return None
    speeds = [_log_speeds(attempts) for attempts in modes]
    found = [(mode, placebo, _log_ratios(of_placebo)) for mode, placebo, of_placebo in placebos]
    return SpeedNoise(
        pairs=len(ratios),
        observed=math.exp(fmean(ratios)),
        factor=chance_factor(speeds, len(ratios)),
        independent=sum(_within(of_mode)[1] for of_mode in speeds),
        placebos=tuple(
            PlaceboRatio(mode, placebo, len(logs), math.exp(fmean(logs))) for mode, placebo, logs in found if logs
        ),
    )


def chance_factor(modes: Sequence[Sequence[tuple[str, float]]], pairs: int) -> float | None:
    """How far from 1 the geometric mean of ``pairs`` ratios of tok/s lies by chance: within 1 / factor and factor.

    ``modes`` are (task, log tok/s) of each attempt, mode by mode. They are taken as normal within a mode and task, with
    a spread of its own for each mode: Student's t with Welch's degrees of freedom. A mode without two attempts at a
    task is taken to scatter as the other one. None where too few attempts share task and mode.
    """
    spreads = [_within(values) for values in modes]
    known = [(variance, freedom) for variance, freedom in spreads if freedom]
    if sum(freedom for _, freedom in known) < FEWEST:
        return None
    total = len(spreads) * fmean(variance for variance, _ in known)
    if total == 0:
        return 1.0
    shares = [variance * len(spreads) / len(known) for variance, _ in known]
    freedom = total**2 / sum(share**2 / degrees for share, (_, degrees) in zip(shares, known, strict=True))
    return math.exp(float(special.stdtrit(freedom, (1 + LEVEL) / 2)) * math.sqrt(total / pairs))


def rate_noise(modes: Sequence[tuple[str, Sequence[AttemptRecord]]], placebos: PlaceboPairs) -> RateNoise | None:
    """Of patches per hour: from seed to seed of each mode, and between modes and placebos; None without clocks."""
    clocks = [one.agent is not None for _, attempts in modes for one in attempts]
    if not clocks or not all(clocks):
        return None
    spreads = (_spread(mode, attempts) for mode, attempts in modes)
    ratios = [(mode, placebo, len(pairs), _rates_ratio(pairs)) for mode, placebo, pairs in placebos]
    return RateNoise(
        tuple(spread for spread in spreads if spread is not None),
        tuple(PlaceboRatio(mode, placebo, pairs, ratio) for mode, placebo, pairs, ratio in ratios if ratio is not None),
    )


def _rates_ratio(pairs: RecordPairs) -> float | None:
    """Patches per hour of the second mode / of the first, on the same pairs."""
    first, second = (patches_per_hour([outcome(pair[side]) for pair in pairs]) for side in (0, 1))
    return second / first if first and second is not None else None


def _spread(mode: str, attempts: Sequence[AttemptRecord]) -> RateSpread | None:
    """Over the seeds and repeats that have an attempt at each task; None with fewer than two, or without a patch."""
    draws: dict[tuple[int, int], list[AttemptRecord]] = {}
    for one in attempts:
        draws.setdefault((one.key.seed, one.key.repeat), []).append(one)
    tasks = len({one.key.task for one in attempts})
    whole = [draw for draw in draws.values() if len(draw) == tasks >= _FEWEST_IN_A_DRAW]
    rates = [rate for draw in whole if (rate := patches_per_hour([outcome(one) for one in draw])) is not None]
    return RateSpread(mode, len(rates), min(rates), max(rates)) if len(rates) > 1 and any(rates) else None


def _log_speed(record: AttemptRecord) -> float | None:
    """Of the attempt's tok/s; None where it generated nothing, or nothing was timed."""
    agent = record.agent
    if agent is None or agent.predicted_tokens <= 0 or agent.predicted_seconds <= 0:
        return None
    return math.log(agent.predicted_tokens / agent.predicted_seconds)


def _log_ratios(pairs: RecordPairs) -> list[float]:
    speeds = [(_log_speed(first), _log_speed(second)) for first, second in pairs]
    return [second - first for first, second in speeds if first is not None and second is not None]


def _within(values: Iterable[tuple[str, float]]) -> tuple[float, int]:
    """Variance within tasks, and how many degrees of freedom it has."""
    groups = by_task(values).values()
    freedom = sum(len(group) - 1 for group in groups)
    squares = sum((value - mean(group)) ** 2 for group in groups for value in group)
    return (squares / freedom if freedom else 0.0), freedom


def _log_speeds(attempts: Sequence[AttemptRecord]) -> list[tuple[str, float]]:
    return [(one.key.task, speed) for one in attempts if (speed := _log_speed(one)) is not None]
