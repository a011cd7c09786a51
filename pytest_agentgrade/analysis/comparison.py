"""Modes compared: every figure of DESIGN's question, "which delivers more working patches, and how sure is that?"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pytest_agentgrade.analysis import mcnemar
from pytest_agentgrade.analysis.figures import Comparison, ModeFigures, PowerFigures
from pytest_agentgrade.analysis.holm import holm
from pytest_agentgrade.analysis.intervals import bounded_mean, exact_share
from pytest_agentgrade.analysis.paired import ModeAttempts, Pair, PairCounts, by_task, count_pairs
from pytest_agentgrade.analysis.paired_times import compare_times
from pytest_agentgrade.analysis.pass_at_k import mean_pass_at_k
from pytest_agentgrade.analysis.patch_rate import compare_rates, patches_per_hour, patches_per_hour_interval
from pytest_agentgrade.analysis.population import infer_to_tasks
from pytest_agentgrade.analysis.success_difference import difference_interval

NAMED_DIFFERENCE = 0.1
"""Difference of success rates for which the pairs needed are given: ten points."""


def mode_figures(mode: ModeAttempts) -> ModeFigures:
    """What one mode delivered; ValueError without a counted attempt."""
    outcomes = [outcome for _, outcome in mode.attempts]
    if not outcomes:
        raise ValueError(f"mode {mode.mode!r} has no counted attempt: nothing to compare")
    shares = np.array([one.share for one in outcomes])
    successes = sum(one.success for one in outcomes)
    return ModeFigures(
        mode=mode.mode,
        attempts=len(outcomes),
        successes=successes,
        success_rate=successes / len(outcomes),
        success_interval=exact_share(successes, len(outcomes)),
        check_share=float(shares.mean()),
        check_share_interval=bounded_mean(shares, 0.0, 1.0),
        pass_at_k=mean_pass_at_k(mode.attempts),
        patches_per_hour=patches_per_hour(outcomes),
        patches_per_hour_interval=patches_per_hour_interval(outcomes),
    )


def compare(
    first: ModeAttempts,
    second: ModeAttempts,
    pairs: Sequence[Pair],
    *,
    invalid_pairs: int = 0,
    unproven_pairs: int = 0,
    blocked_pairs: int = 0,
    named_difference: float = NAMED_DIFFERENCE,
) -> Comparison:
    """Compare two modes at one response budget; ValueError without a pair. For more modes see :func:`correct`."""
    if not pairs:
        raise ValueError(f"no proven pair of {first.mode!r} and {second.mode!r}: nothing to compare")
    counts = count_pairs(pairs)
    p = mcnemar.exact_p(counts.first_only, counts.second_only)
    gaps = np.array([pair.second.share - pair.first.share for pair in pairs])
    sizes = {len(group) for group in by_task((pair.task, pair) for pair in pairs).values()}
    return Comparison(
        first=mode_figures(first),
        second=mode_figures(second),
        response_tokens=pairs[0].response_tokens,
        tasks=len({pair.task for pair in pairs}),
        pairs=len(pairs),
        invalid_pairs=invalid_pairs,
        unproven_pairs=unproven_pairs,
        balanced=len(sizes) == 1,
        order="blocked" if blocked_pairs else "balanced",
        blocked_pairs=blocked_pairs,
        counts=counts,
        difference=(counts.second_only - counts.first_only) / len(pairs),
        difference_interval=difference_interval(counts.first_only, counts.second_only, len(pairs)),
        p=p,
        p_adjusted=p,
        p_mid=mcnemar.mid_p(counts.first_only, counts.second_only),
        check_difference=float(gaps.mean()),
        check_difference_interval=bounded_mean(gaps, -1.0, 1.0),
        rates=compare_rates(pairs),
        times=compare_times(pairs),
        power=power_figures(counts, named_difference),
        population=infer_to_tasks(pairs),
    )


def correct(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same comparisons, their p-values corrected for being several (Holm 1979), and with them what they can show.

    Holm tests the clearest comparison at alpha / number of comparisons, the next ones less strictly: power is given
    for that first level, which is what a mode can count on whatever the others do.
    """
    adjusted = holm([one.p for one in comparisons])
    return [
        replace(
            one,
            p_adjusted=p,
            comparisons=len(comparisons),
            rates=one.rates and replace(one.rates, p_adjusted=min(1.0, one.rates.p * len(comparisons))),
            power=power_figures(one.counts, one.power.named_difference, one.alpha / len(comparisons)),
        )
        for one, p in zip(comparisons, adjusted, strict=True)
    ]


def power_figures(
    counts: PairCounts, named_difference: float = NAMED_DIFFERENCE, alpha: float = mcnemar.ALPHA
) -> PowerFigures:
    """What these pairs could show, and how many would be needed.

    For the named difference the share of discordant pairs is taken from these pairs, shrunk a little towards a half
    as (discordant + 1) / (pairs + 2), since few pairs may show none by chance.
    """
    pairs = counts.pairs
    discordant = max(named_difference, (counts.discordant + 1) / (pairs + 2))
    return PowerFigures(
        level=alpha,
        least_significant=mcnemar.least_significant_difference(pairs, alpha),
        detectable=mcnemar.detectable_difference(pairs, alpha=alpha),
        pairs_for_observed=mcnemar.pairs_needed(counts.first_only / pairs, counts.second_only / pairs, alpha=alpha),
        named_difference=named_difference,
        discordant_assumed=discordant,
        pairs_for_named=mcnemar.pairs_for_difference(named_difference, discordant, alpha=alpha),
    )
