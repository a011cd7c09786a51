"""Noise in plain sentences: what differs when nothing that matters was changed, and whether modes differ by more."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_agentgrade.analysis.contrasts import Contrast, TwinTest, made_elsewhere
from pytest_agentgrade.analysis.figures import Comparison, Disagreement, NoiseFloor
from pytest_agentgrade.analysis.noise_figures import RateNoise, SpeedNoise
from pytest_agentgrade.reporting.verdict_text import number_of, p_value, points

_WARNING = (
    "A placebo that differs is a warning: something drifts, or more than numerics was changed. Rely on no verdict of "
    "this experiment before you know what."
)


def noise_lines(contrast: Contrast) -> list[str]:
    """Whether the observed difference is larger than what noise alone shows, and what that is taken from."""
    floor, comparison = contrast.floor, contrast.comparison
    usable = contrast.pairs.usable
    if comparison is None or any(made_elsewhere(side) for pair in usable for side in (pair.first, pair.second)):
        return []
    if floor is None:
        return [
            "Noise floor: not known. It takes attempts at one task with several seeds or --agent-repeat, or a placebo."
        ]
    pairs = number_of(floor.pairs, "pair").lower()
    speeds = [*_speed_line(contrast.speed_noise), *_rate_line(contrast.rate_noise)]
    if floor.floor >= 1:
        return [f"Noise floor: {pairs} may show any difference by chance alone.", *speeds]
    taken = [f"{_source(one.source)}: {_size(one.floor)} points" for one in contrast.noise]
    return [
        f"Noise floor: {pairs} of nothing but chance stay within {_size(floor.floor)} points 95 times in 100; the "
        f"observed {points(floor.observed)} {_judged(floor, comparison)}.",
        f"Noise is taken from {' and from '.join(taken)}.",
        *speeds,
    ]


def _speed_line(found: SpeedNoise | None) -> list[str]:
    """What tok/s show of noise; nothing where nobody timed them."""
    if found is None:
        return []
    placebos = [f"; {one.placebo} runs {one.ratio:.2f} times as fast as {one.mode}" for one in found.placebos]
    if found.factor is None:
        seen = f"too few attempts of one mode at one task for more than the observed {found.observed:.2f} times"
        seen += " (mean of the pairs' ratios)"
        return [f"Noise of tok/s: {seen}{''.join(placebos)}."]
    pairs = number_of(found.pairs, "pair").lower()
    return [
        f"Noise of tok/s: {pairs} of nothing but chance stay within {found.factor:.2f} times 95 times in 100; the "
        f"observed {found.observed:.2f} times (mean of the pairs' ratios) is {'' if found.exceeded else 'not '}beyond "
        f"that{''.join(placebos)}."
    ]


def _rate_line(found: RateNoise | None) -> list[str]:
    """How patches per hour scatter; nothing where nobody took the time."""
    if found is None:
        return []
    said = [
        f"{one.mode} {one.low:.1f} to {one.high:.1f}" + (f" ({one.high / one.low:.2f} times)" if one.low else "")
        for one in found.spreads
    ]
    told = [f"from one seed or repeat to the next {', '.join(said)}"] if said else []
    told += [f"{one.placebo} delivers {one.ratio:.2f} times as many as {one.mode}" for one in found.placebos]
    if not told:
        return ["Noise of patches per hour: too few attempts or working patches for a spread from seed to seed."]
    return [f"Noise of patches per hour: {'; '.join(told)}."]


def lone_line(floor: NoiseFloor | None) -> list[str]:
    """For a mode that is compared with nothing: what its seeds and repeats tell of noise."""
    if floor is None:
        return []
    pairs = number_of(floor.pairs, "pair").lower()
    return [
        f"Noise floor: against another mode {pairs} would stay within {_size(floor.floor)} points 95 times in 100 by "
        f"chance alone, judged by {_source(floor.source)}."
    ]


def placebo_title(contrast: Contrast) -> str:
    """``ub256, a placebo of baseline``."""
    return f"{contrast.pairs.second_mode}, a placebo of {contrast.pairs.first_mode}"


def placebo_lines(contrast: Contrast) -> list[str]:
    """A placebo is no contender: how often it differs, and a warning when it differs for good."""
    pairs, found = contrast.pairs, contrast.comparison
    if found is None:
        return ["No pair of counted attempts that may be compared: the placebo measures nothing."]
    both, counts = found.counts.both, found.counts
    differs = "It differs" if found.p <= found.alpha else "No evidence that it differs, as it should be"
    lines = [
        f"{pairs.second_mode} changes numerics only: it measures noise and is no contender. {differs}: "
        f"{pairs.second_mode} {both + counts.second_only} of {found.pairs}, {pairs.first_mode} "
        f"{both + counts.first_only} of {found.pairs} (exact McNemar p {p_value(found.p)}); in {counts.discordant} of "
        f"{found.pairs} pairs exactly one works."
    ]
    return [*lines, _WARNING] if found.p <= found.alpha else lines


def twin_lines(tests: Iterable[TwinTest]) -> list[str]:
    """What became of attempts that were made twice: a test of determinism, or of nothing."""
    return [line for one in tests for line in _twins(one)]


def _twins(test: TwinTest) -> list[str]:
    again = "" if test.again_as == test.mode else f", as {test.again_as} which is the same mode"
    lines = []
    if (found := test.result) is not None:
        left = f"{found.same_submission} of {found.told} left the same submission" if found.told else "nobody told "
        left += "" if found.told else "which submissions they left"
        lines.append(
            f"Determinism: {number_of(found.twins, 'attempt').lower()} of {test.mode} made twice with the same seed"
            f"{again}: {left}, {found.same_checks} of {found.twins} passed as many checks. That is a test of the "
            "server, not a sample: they count once."
        )
    if test.other_conditions:
        lines.append(
            f"{number_of(test.other_conditions, 'attempt')} of {test.mode} made twice{again}, but not under the same "
            f"conditions ({', '.join(test.differing)}): no test of determinism, and they count once."
        )
    return lines


def _judged(found: NoiseFloor, comparison: Comparison) -> str:
    if found.exceeded:
        unsure = "" if comparison.winner else ", which the test does not yet take for evidence"
        return f"points are larger than that{unsure}"
    despite = ", although the test names a winner: make more pairs before you rely on it" if comparison.winner else ""
    return f"points are not larger than that{despite}"


def _source(source: Disagreement) -> str:
    share = f"{100 * source.differ:.0f} %"
    if source.kind == "placebo":
        mode, placebo = source.modes
        pairs = number_of(source.compared).lower()
        return f"the placebo {placebo}, which differs from {mode} in {share} of {pairs}{_reckoned(source)}"
    cases = number_of(source.compared, "case").lower()
    return (
        f"seeds and repeats, where two attempts of one mode at one task come out differently in {share} of {cases}"
        f"{_reckoned(source)}"
    )


def _reckoned(source: Disagreement) -> str:
    """The share that the floor is made with, where it is another one: few cases that all agree prove no agreement."""
    share = f"{100 * source.cautious:.0f} %"
    return "" if share == f"{100 * source.differ:.0f} %" else f" (with so few, {share} is reckoned with)"


def _size(share: float) -> str:
    return f"{100 * share:.0f}"
