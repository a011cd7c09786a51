"""Correction for making several comparisons."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order given: comparing each with alpha keeps the chance of *any* false claim <= alpha.

    Holm 1979, "A simple sequentially rejective multiple test procedure".
    """
    adjusted = [0.0] * len(p_values)
    reached = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        reached = max(reached, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = reached
    return adjusted
