"""The permutation test on pairs: without a difference, either attempt of a pair could have been the first."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pytest_agentgrade.analysis.intervals import Floats

EXACT_UP_TO = 14
"""Pairs up to which all 2**pairs assignments are enumerated."""

_DRAWS = 9_999
_SEED = 20261002


@lru_cache(maxsize=16)
def flips(pairs: int, draws: int = _DRAWS) -> Floats:
    """Signs, shape (assignments, pairs), the observed one (all +1) among them.

    All 2**pairs of them up to EXACT_UP_TO; then ``draws`` drawn with a fixed seed and the observed one, which keeps
    the level of the test exact (Phipson and Smyth 2010, "Permutation p-values should never be zero").
    """
    if pairs <= EXACT_UP_TO:
        codes = np.arange(2**pairs)[:, np.newaxis] >> np.arange(pairs)
        return np.asarray(1.0 - 2.0 * (codes & 1), dtype=np.float64)
    drawn = np.random.default_rng(_SEED).integers(0, 2, size=(draws, pairs)) * 2.0 - 1.0
    return np.concatenate([np.ones((1, pairs)), drawn])


def share_as_far(statistics: Floats) -> Floats:
    """Two-sided p-values from statistics of all assignments, shape (..., assignments), the observed one first."""
    far = np.abs(statistics)
    return np.asarray((far >= far[..., :1] * (1 - 1e-9) - 1e-12).mean(axis=-1), dtype=np.float64)


def sign_flip_p(differences: Floats, draws: int = _DRAWS) -> Floats:
    """Two-sided p-values that the differences within pairs, shape (m, pairs), are as likely positive as negative."""
    return share_as_far(differences @ flips(differences.shape[1], draws).T)
