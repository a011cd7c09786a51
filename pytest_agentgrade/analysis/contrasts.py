"""Every comparison an experiment holds: the first mode against each other one, at each response budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_agentgrade.analysis.comparison import compare, correct
from pytest_agentgrade.analysis.experiment import Experiment, ModePairs, TriedPair, cell_of
from pytest_agentgrade.analysis.figures import Comparison, Disagreement, KindOfWork, NoiseFloor
from pytest_agentgrade.analysis.noise import (
    Determinism,
    determinism,
    noise_floor,
    placebo_disagreement,
    repeats_disagreement,
)
from pytest_agentgrade.analysis.noise_figures import RateNoise, SpeedNoise
from pytest_agentgrade.analysis.pair_conditions import Recorded
from pytest_agentgrade.analysis.paired import ModeAttempts, outcome
from pytest_agentgrade.analysis.pairs import ProofStatus, prove_pair
from pytest_agentgrade.analysis.speed_noise import rate_noise, speed_noise
from pytest_agentgrade.analysis.summary import summarise
from pytest_agentgrade.records.model import AttemptRecord


@dataclass(frozen=True)
class Contrast:
    """Two modes at one response budget: their pairs, and what they show."""

    pairs: ModePairs
    comparison: Comparison | None
    """None without a usable pair."""
    work: KindOfWork | None
    noise: tuple[NoiseFloor, ...] = ()
    """What these pairs would show of noise alone, by each measure of noise that the experiment holds."""
    speed_noise: SpeedNoise | None = None
    """The same of tok/s; None where nothing was timed."""
    rate_noise: RateNoise | None = None
    """How patches per hour scatter; None without task clocks."""

    @property
    def floor(self) -> NoiseFloor | None:
        """The highest of these, which an observed difference has to exceed."""
        return max(self.noise, key=lambda one: one.floor, default=None)


@dataclass(frozen=True)
class TwinTest:
    """Attempts of one mode at the same cells, made twice."""

    mode: str
    again_as: str
    """The name it had the second time; most often the same."""
    result: Determinism | None
    """None when none was made twice under the same conditions."""
    other_conditions: int
    """Made again, but not under the same conditions: no test of anything."""
    differing: tuple[str, ...]
    """What was not the same there."""


def contrasts(experiment: Experiment) -> tuple[Contrast, ...]:
    """The first contender against each other one, at each budget; p-values corrected over all of them."""
    first, *others = experiment.contenders or ("",)
    found = [_contrast(experiment, first, other, budget) for other in others for budget in experiment.budgets]
    corrected = iter(correct([one.comparison for one in found if one.comparison is not None]))
    return tuple(
        one if one.comparison is None else _with_noise(experiment, replace(one, comparison=next(corrected)))
        for one in found
    )


def placebo_contrasts(experiment: Experiment) -> tuple[Contrast, ...]:
    """Each mode against its placebo, at each budget: no claims, so nothing to correct."""
    return tuple(
        _contrast(experiment, mode, placebo, budget)
        for placebo, mode in experiment.placebos.items()
        for budget in experiment.budgets
    )


def repeats_of(experiment: Experiment, modes: Sequence[str], budget: int) -> Disagreement | None:
    """How often attempts of one of these modes at the same task disagree, their seeds apart.

    None for patches made elsewhere: nobody knows what was sampled, and one patch may have been given several times.
    """
    if any(made_elsewhere(one) for mode in modes for one in experiment.counted(mode, budget)):
        return None
    return repeats_disagreement([mode_attempts(experiment, mode, budget) for mode in modes])


def mode_attempts(experiment: Experiment, mode: str, budget: int) -> ModeAttempts:
    """The counted attempts of a mode at a budget, for the statistics.

    Always in the same order: intervals made of random draws must not depend on how the records were stored.
    """
    counted = sorted(experiment.counted(mode, budget), key=lambda one: cell_of(one.record.key))
    return ModeAttempts(mode, tuple((one.record.key.task, outcome(one.record)) for one in counted))


def twin_tests(experiment: Experiment) -> tuple[TwinTest, ...]:
    """Attempts that were made twice, mode by mode; submissions made elsewhere test nothing and are left out."""
    groups: dict[tuple[str, str], list[tuple[Recorded, Recorded]]] = {}
    for one, other in experiment.twins:
        if not (made_elsewhere(one) or made_elsewhere(other)):
            groups.setdefault((one.record.key.mode, other.record.key.mode), []).append((one, other))
    return tuple(_twin_test(mode, again_as, twins) for (mode, again_as), twins in groups.items())


def _twin_test(mode: str, again_as: str, twins: Sequence[tuple[Recorded, Recorded]]) -> TwinTest:
    """Other draws of the checks do not matter to what the agent was asked, every other difference does."""
    same, differing, unlike = [], dict[str, None](), 0
    for one, other in twins:
        differences = [difference.what for difference in prove_pair(one, other).differences]
        if set(differences) <= {"draws"}:
            same.append((outcome(one.record), outcome(other.record)))
        else:
            unlike += 1
            differing.update(dict.fromkeys(differences))
    return TwinTest(mode, again_as, determinism(mode, same) if same else None, unlike, tuple(differing))


def made_elsewhere(one: Recorded) -> bool:
    """Whether no agent of ours made the submission: it was given as a patch."""
    return one.record.submission is not None and one.record.submission.origin == "patch"


def _contrast(experiment: Experiment, first: str, second: str, budget: int) -> Contrast:
    pairs = experiment.pairs(first, second, budget)
    return Contrast(pairs, _comparison(experiment, pairs), _kinds(experiment, pairs))


def _with_noise(experiment: Experiment, contrast: Contrast) -> Contrast:
    """Beside the observed difference: repeats of both modes, and each placebo of one of them."""
    assert contrast.comparison is not None
    pairs, comparison = contrast.pairs, contrast.comparison
    modes = pairs.first_mode, pairs.second_mode
    sources = [repeats_of(experiment, modes, pairs.response_tokens)]
    placebos = [
        (mode, placebo, experiment.pairs(mode, placebo, pairs.response_tokens).usable)
        for placebo, mode in experiment.placebos.items()
        if mode in modes
    ]
    for mode, placebo, usable in placebos:
        sources.append(placebo_disagreement(mode, placebo, [pair.as_pair() for pair in usable]))
    floors = [noise_floor(one, comparison.pairs, comparison.difference) for one in sources if one is not None]
    attempts = [(mode, [one.record for one in experiment.counted(mode, pairs.response_tokens)]) for mode in modes]
    of_placebos = [(mode, placebo, _records(usable)) for mode, placebo, usable in placebos]
    speeds = speed_noise([records for _, records in attempts], _records(pairs.usable), of_placebos)
    return replace(contrast, noise=tuple(floors), speed_noise=speeds, rate_noise=rate_noise(attempts, of_placebos))


def _records(pairs: Sequence[TriedPair]) -> list[tuple[AttemptRecord, AttemptRecord]]:
    return [(pair.first.record, pair.second.record) for pair in pairs]


def _comparison(experiment: Experiment, pairs: ModePairs) -> Comparison | None:
    if not pairs.usable:
        return None
    sides = [mode_attempts(experiment, mode, pairs.response_tokens) for mode in (pairs.first_mode, pairs.second_mode)]
    return compare(
        sides[0],
        sides[1],
        [pair.as_pair() for pair in sorted(pairs.usable, key=lambda pair: pair.cell)],
        invalid_pairs=len(pairs.with_status(ProofStatus.INVALID)),
        unproven_pairs=len(pairs.with_status(ProofStatus.UNPROVEN)),
        blocked_pairs=len(pairs.blocked),
    )


def _kinds(experiment: Experiment, pairs: ModePairs) -> KindOfWork | None:
    found = {(one.mode, one.response_tokens): one for one in summarise(experiment.records)}
    first, second = (found.get((mode, pairs.response_tokens)) for mode in (pairs.first_mode, pairs.second_mode))
    if first is None or second is None:
        return None
    return KindOfWork(first.speed.short, second.speed.short, first.tokens_per_second, second.tokens_per_second)
