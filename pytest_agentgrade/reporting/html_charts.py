"""Charts as positions in percent of their width: what an inline SVG without a viewBox needs to fit any screen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from pytest_agentgrade.analysis.experiment import TriedPair
from pytest_agentgrade.analysis.figures import Interval


class Tick(NamedTuple):
    """A mark of the axis."""

    at: float
    text: str


class Bar(NamedTuple):
    """A figure with its interval; positions 0..100."""

    name: str
    value: float
    low: float | None
    high: float | None
    text: str


class BarChart(NamedTuple):
    """One figure for each mode, on a common axis."""

    title: str
    bars: Sequence[Bar]
    ticks: Sequence[Tick]


class Dumbbell(NamedTuple):
    """The task clocks of a pair; positions 0..100."""

    name: str
    first: float
    second: float
    works: tuple[bool, bool]
    """Which of the two submissions pass all ten checks."""
    text: str


class DumbbellChart(NamedTuple):
    """Pairs, one below the other."""

    title: str
    modes: tuple[str, str]
    pairs: Sequence[Dumbbell]
    ticks: Sequence[Tick]
    left_out: int
    """Pairs beyond :data:`MOST_PAIRS`."""


MOST_PAIRS = 40
"""Rows of a chart; the table of pairs has them all."""


def share_chart(title: str, figures: Sequence[tuple[str, float, Interval | None, str]]) -> BarChart:
    """From (name, share 0..1, interval, text); the axis is 0 to 100 %."""
    ticks = [Tick(at, f"{at} %") for at in (0, 25, 50, 75, 100)]
    return BarChart(title, [_bar(*one, 1.0) for one in figures], ticks)


def rate_chart(title: str, figures: Sequence[tuple[str, float, Interval | None, str]]) -> BarChart | None:
    """From (name, rate, interval, text); None when all rates are zero and have no interval."""
    ends = [end for _, rate, limits, _ in figures for end in (rate, limits.high if limits else 0.0)]
    highest = max((end for end in ends if math.isfinite(end)), default=0.0)
    if highest <= 0:
        return None
    ticks, top = _axis(highest)
    return BarChart(title, [_bar(*one, top) for one in figures], ticks)


def clock_chart(modes: tuple[str, str], pairs: Sequence[TriedPair]) -> DumbbellChart | None:
    """Task clocks of both attempts of each pair, in seconds; None where no pair has both."""
    found = []
    for pair in pairs:
        one, other = pair.first.record, pair.second.record
        if one.agent is not None and other.agent is not None:
            clocks = one.agent.clock_seconds, other.agent.clock_seconds
            found.append((str(pair.cell), *clocks, (one.delivers, other.delivers)))
    highest = max((clock for _, *clocks, _ in found for clock in clocks), default=0.0)
    if highest <= 0:
        return None
    ticks, top = _axis(highest)
    rows = [
        Dumbbell(name, 100 * one / top, 100 * other / top, works, f"{one:.1f} s \N{RIGHTWARDS ARROW} {other:.1f} s")
        for name, one, other, works in found[:MOST_PAIRS]
    ]
    return DumbbellChart("Task clock of each pair, seconds", modes, rows, ticks, max(0, len(found) - MOST_PAIRS))


def _bar(name: str, value: float, limits: Interval | None, text: str, top: float) -> Bar:
    low, high = (None, None) if limits is None else (100 * limits.low / top, min(100.0, 100 * limits.high / top))
    return Bar(name, min(100.0, 100 * value / top), low, high, text)


def _axis(highest: float) -> tuple[list[Tick], float]:
    """Four or five round steps from 0 to at least ``highest``, and the last of them."""
    rough = highest / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))
    steps = max(1, math.ceil(highest / step - 1e-9))
    return [Tick(100 * index / steps, f"{index * step:,g}") for index in range(steps + 1)], steps * step
