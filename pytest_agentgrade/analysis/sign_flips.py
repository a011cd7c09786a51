"""The permutation test on pairs: without a difference, either attempt of a pair could have been the first."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pytest_agentgrade.analysis.intervals import Floats

BITS = 13
"""2**BITS exchanges of labels are tried; for no more than BITS pairs these are all there are."""

_SEED = 20261002


@lru_cache(maxsize=16)
def flips(pairs: int, bits: int = BITS) -> Floats:
    """Signs, shape (exchanges, pairs), the observed one (all +1) first.

    For more than ``bits`` pairs not all 2**pairs exchanges, but a subgroup of them: all products of ``bits`` exchanges
    that were drawn with a fixed seed. Any such subgroup keeps the test exact and the p-value reproducible (Hemerik and
    Goeman 2018, "Exact testing with random permutations"); single draws would need new ones for every data set.
    """
    if pairs <= bits:
        generators = np.eye(pairs, dtype=np.int64)
    else:
        generators = np.random.default_rng(_SEED).integers(0, 2, size=(bits, pairs))
    chosen = np.arange(2 ** len(generators))[:, np.newaxis] >> np.arange(len(generators)) & 1
    return np.asarray(1.0 - 2.0 * (chosen @ generators % 2), dtype=np.float64)


def share_as_far(statistics: Floats) -> Floats:
    """Two-sided p-values from the statistics of all exchanges, shape (..., exchanges), the observed one first."""
    far = np.abs(statistics)
    return np.asarray((far >= far[..., :1] * (1 - 1e-9) - 1e-12).mean(axis=-1), dtype=np.float64)


def sign_flip_p(differences: Floats, bits: int = BITS) -> Floats:
    """Two-sided p-values (m,) that differences within pairs, shape (m, pairs), are as likely positive as negative."""
    return share_as_far(differences @ flips(differences.shape[1], bits).T)
