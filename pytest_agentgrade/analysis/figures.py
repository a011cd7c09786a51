"""The figures of a comparison: frozen, plain and JSON-able, for reports and gates. Needs neither numpy nor scipy."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from pytest_agentgrade.analysis.paired import PairCounts


@dataclass(frozen=True)
class Interval:
    """A two-sided interval at 95 %, unless its owner says otherwise."""

    low: float
    high: float
    method: str

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class ModeFigures:
    """What one mode delivered over all its counted attempts, paired or not."""

    mode: str
    attempts: int
    successes: int
    success_rate: float
    success_interval: Interval
    check_share: float
    """Mean share of checks passed, 0..1."""
    check_share_interval: Interval
    """Of attempts, not of checks: the checks of one attempt are not independent."""
    pass_at_k: dict[int, float]
    """k -> chance that at least one of k attempts at a task succeeds, mean over tasks; k up to the fewest attempts."""
    patches_per_hour: float | None
    patches_per_hour_interval: Interval | None


@dataclass(frozen=True)
class RateFigures:
    """Working patches per hour of two modes on the same pairs."""

    first: float
    second: float
    difference: float
    difference_interval: Interval | None
    """Second minus first; None for fewer than three pairs."""
    ratio: float | None
    """Second / first; None when the first delivered nothing."""
    ratio_interval: Interval | None
    """Leaves out 1 exactly when the interval of the difference leaves out 0; without a first patch no upper limit."""
    p: float
    """Permutation of the labels within pairs."""
    p_adjusted: float
    """Times the number of comparisons, at most 1; that one mode delivers more per hour rests on this one."""


@dataclass(frozen=True)
class TimeFigures:
    """Paired task clocks: how long attempts took, whatever they delivered. Speed, never delivery."""

    pairs: int
    limited_first: int
    """Attempts of the first mode that a limit ended: their times are lower bounds."""
    limited_second: int
    p: float
    tends_to: float
    """-1: the second mode took less time, 1: more, 0: neither."""
    unlimited_pairs: int
    """Pairs of which both attempts ended by themselves."""
    ratio: float | None
    """Geometric mean of second / first over the unlimited pairs; None without any."""


@dataclass(frozen=True)
class PowerFigures:
    """What these pairs could show, and how many would be needed; chance 80 %, exact McNemar."""

    level: float
    """5 %, divided by the number of comparisons."""
    least_significant: float | None
    """Smallest observed difference that could be significant; None: no result of so few pairs can be."""
    detectable: float | None
    """Smallest true difference seen with a chance of 80 % at best, no pair pointing the other way."""
    pairs_for_observed: int | None
    """Pairs needed if the observed chances are the true ones; None without a difference, or beyond 20,000."""
    named_difference: float
    discordant_assumed: float
    """Share of pairs in which exactly one mode succeeds, assumed for the named difference."""
    pairs_for_named: int | None


@dataclass(frozen=True)
class PopulationFigures:
    """Inference to tasks like these, clustered by task."""

    tasks: int
    difference_interval: Interval | None
    reason: str
    """Why there is no interval; empty when there is one."""


@dataclass(frozen=True)
class KindOfWork:
    """Generation speeds, tokens / s, of the two kinds of work that users feel apart; None where there was none."""

    short_first: float | None
    """Short tool-choice responses, the ones nearest to chat."""
    short_second: float | None
    all_first: float | None
    """All responses: the study's aggregate speed."""
    all_second: float | None


@dataclass(frozen=True)
class Disagreement:
    """How often two attempts at the same task come out differently without a cause that interests us."""

    kind: str
    """``repeats``: of one mode, with other seeds; ``placebo``: of a mode and one that changes numerics only."""
    modes: tuple[str, ...]
    """Whose attempts; of a placebo: the mode, then the placebo."""
    compared: int
    """Number of twos that were compared; repeats of one task share attempts, so they are not independent."""
    independent: int
    """As many independent twos they are worth: attempts less one for each task and mode; for a placebo its pairs."""
    differ: float
    """Share of which exactly one succeeds, 0..1, mean over tasks."""
    check_gap: float
    """Mean absolute difference of the shares of checks passed, 0..1, mean over tasks."""

    @property
    def cautious(self) -> float:
        """``differ`` as it may be: (differing + 1) / (twos + 2), since few twos may show none by chance."""
        return (self.differ * self.independent + 1) / (self.independent + 2)


@dataclass(frozen=True)
class NoiseFloor:
    """The difference of success rates that this many pairs show when nothing but noise tells their attempts apart."""

    source: Disagreement
    pairs: int
    floor: float
    """0..1: of experiments of nothing but noise, 95 in 100 show no more than this, in either direction."""
    observed: float
    """The difference of success rates that these pairs show, -1..1."""

    @property
    def exceeded(self) -> bool:
        """Whether the observed difference is larger. Descriptive: the verdict rests on the test."""
        return abs(self.observed) > self.floor + 1e-9


@dataclass(frozen=True)
class Comparison:
    """Two modes at one response budget. Differences are second minus first."""

    first: ModeFigures
    second: ModeFigures
    response_tokens: int
    tasks: int
    pairs: int
    invalid_pairs: int
    """Attempts next to each other that were not proved equal but for the mode: left out of all paired figures."""
    unproven_pairs: int
    """Of ``pairs``: nothing is known to differ, but not everything is known."""
    balanced: bool
    """Every task has the same number of pairs; if not, tasks weigh by their pairs."""
    order: str
    """``balanced``, or ``blocked``: then anything that drifts with time may pass for a difference of the modes."""
    blocked_pairs: int
    """Of ``pairs``: attempts that did not run next to each other, as planned or in fact."""
    counts: PairCounts
    difference: float
    """Of success rates over the pairs."""
    difference_interval: Interval
    p: float
    """Exact conditional McNemar."""
    p_adjusted: float
    """After Holm over all comparisons made; the verdict rests on this one."""
    p_mid: float
    check_difference: float
    check_difference_interval: Interval
    rates: RateFigures | None
    times: TimeFigures | None
    power: PowerFigures
    population: PopulationFigures
    comparisons: int = 1
    """Number of comparisons that Holm's correction is over."""
    alpha: float = 0.05

    @property
    def winner(self) -> str | None:
        """The mode that delivers more working patches, if that is significant. Time alone never makes one."""
        if self.p_adjusted > self.alpha or self.difference == 0:
            return None
        return (self.second if self.difference > 0 else self.first).mode

    @property
    def faster_per_hour(self) -> str | None:
        """The mode with more working patches per hour, if test and interval agree; its own question at 5 %."""
        rates = self.rates
        if rates is None or rates.difference_interval is None:
            return None
        if rates.p_adjusted > self.alpha or 0.0 in rates.difference_interval:
            return None
        return (self.second if rates.difference > 0 else self.first).mode

    def to_dict(self) -> dict[str, Any]:
        """All figures as JSON values; an infinite limit becomes None."""
        plain = _json({**asdict(self), "counts": self.counts._asdict()})
        return {**plain, "winner": self.winner, "faster_per_hour": self.faster_per_hour}


def _json(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
