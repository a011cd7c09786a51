"""The figures of how speeds and rates scatter: frozen, plain and JSON-able. Needs neither numpy nor scipy."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class PlaceboRatio:
    """A figure of a placebo, divided by that of its mode: what becomes of it when numerics alone change."""

    mode: str
    placebo: str
    pairs: int
    ratio: float


@dataclass(frozen=True)
class SpeedNoise:
    """The ratio of tok/s that this many pairs show when nothing but noise tells their attempts apart."""

    pairs: int
    observed: float
    """Second / first mode: geometric mean over the pairs."""
    factor: float | None
    """At least 1: of experiments of nothing but noise, 95 in 100 show a ratio between 1 / factor and factor. None: too
    few attempts of one mode at one task."""
    independent: int
    """Attempts less one for each task and mode: what the factor is taken from."""
    placebos: tuple[PlaceboRatio, ...]

    @property
    def exceeded(self) -> bool | None:
        """Whether the observed ratio is further from 1; None where the factor is not known."""
        return None if self.factor is None else abs(math.log(self.observed)) > math.log(self.factor) + 1e-9


@dataclass(frozen=True)
class RateSpread:
    """Working patches per hour of one mode, seed by seed (and repeat by repeat), each over all tasks."""

    mode: str
    draws: int
    low: float
    high: float


@dataclass(frozen=True)
class RateNoise:
    """How far apart patches per hour are when nothing that matters was changed; either may be empty."""

    spreads: tuple[RateSpread, ...]
    placebos: tuple[PlaceboRatio, ...]
