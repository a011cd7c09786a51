"""The figures that gates may name, for each mode: every number of the JSON report, by its name there."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from pytest_agentgrade.analysis.comparison import mode_figures
from pytest_agentgrade.analysis.contrasts import Contrast, mode_attempts, placebo_contrasts, repeats_of
from pytest_agentgrade.analysis.experiment import Experiment
from pytest_agentgrade.analysis.figures import Comparison, Disagreement, ModeFigures
from pytest_agentgrade.analysis.gates import Gate, GateError, nearest_metric
from pytest_agentgrade.analysis.pairs import ProofStatus
from pytest_agentgrade.analysis.summary import ModeSummary, summarise

COMPUTED = ("success_rate", "tokens_per_second", "patches_per_hour", "acceptance_rate")
"""Figures of a :class:`ModeSummary` that are worked out from its fields."""
SHORT_NAMES: Mapping[str, str] = {
    "tok_s": "tokens_per_second",
    "time_to_patch": "seconds_to_patch",
    "difference_low": "difference_interval.low",
    "difference_high": "difference_interval.high",
}
"""Second names of what is often asked for: those of the tables, and of the limits of the difference."""
_FAMILIES = ("pass_at_k", "speed.accepted_at")
"""Figures with a number behind their name, as many as a run holds."""
_NUMBERS = (int, float, bool)


def gate_figures(experiment: Experiment, found: Sequence[Contrast], budget: int) -> dict[str, dict[str, float | None]]:
    """Mode -> name -> value at one response budget; None where the value is not known.

    Figures of a comparison belong to its second mode: the first mode does not have them, a placebo has those of the
    comparison with its mode.
    """
    everyone = [one for one in summarise(experiment.records) if one.response_tokens == budget]
    figures = {one.mode: _of_mode(experiment, one) for one in everyone}
    for contrast in (*found, *placebo_contrasts(experiment)):
        if contrast.pairs.response_tokens == budget:
            _add_contrast(figures, contrast)
    families = {name for known in figures.values() for name in known if name.rpartition(".")[2].isdigit()}
    return {mode: dict.fromkeys(families) | _with_short_names(known) for mode, known in figures.items()}


def refuse_unknown_metrics(gate: Gate) -> None:
    """GateError for a metric that no mode can have: a slip is told before runs are looked for."""
    known = {*mode_names(), *contrast_names(), *SHORT_NAMES}
    for name in gate.names.values():
        parts = name.split(".")
        endings = [".".join(parts[at:]) for at in range(1, len(parts))]
        if any(end in known or _in_family(end) for end in endings):
            continue
        hints = {end: nearest_metric(end, known) for end in endings}
        metric = next((end for end, hint in hints.items() if hint.startswith("did you mean")), endings[0])
        raise GateError(f"--fail-if {gate.text!r}: there is no metric {metric!r}", hints[metric])


def _in_family(metric: str) -> bool:
    family, _, number = metric.rpartition(".")
    return family in _FAMILIES and number.isdigit()


def mode_names() -> list[str]:
    """What every mode has, short names left out."""
    repeats = (f"repeats.{name}" for name in _names(Disagreement))
    more = (*COMPUTED, "check_share", "not_counted", *repeats, *_names(ModeFigures))
    return list(dict.fromkeys((*_names(ModeSummary), *more)))


def contrast_names() -> list[str]:
    """What a mode has beside that when it is compared with another one, short names left out."""
    told = (name for name in _names(Comparison) if name.split(".")[0] not in ("first", "second"))
    return [*told, "alone", "noise_floor"]


def _of_mode(experiment: Experiment, one: ModeSummary) -> dict[str, float | None]:
    repeats = repeats_of(experiment, [one.mode], one.response_tokens)
    attempts = mode_attempts(experiment, one.mode, one.response_tokens)
    return {
        **dict.fromkeys((*mode_names(), "pass_at_k.1")),
        **(dict(_numbers(mode_figures(attempts))) if attempts.attempts else {}),
        **dict(_numbers(one)),
        **{name: getattr(one, name) for name in COMPUTED},
        **(dict(_numbers(repeats, "repeats.")) if repeats else {}),
        "check_share": one.checks_passed / one.checks_total if one.checks_total else None,
        "not_counted": one.planned - one.counted,
    }


def _add_contrast(figures: dict[str, dict[str, float | None]], contrast: Contrast) -> None:
    pairs, found = contrast.pairs, contrast.comparison
    of_second = figures[pairs.second_mode]
    of_second |= dict.fromkeys(contrast_names())
    if found is not None:
        told = _numbers(found)
        of_second |= {name: value for name, value in told if name.split(".")[0] not in ("first", "second")}
    of_second["alone"] = pairs.alone
    of_second["invalid_pairs"] = len(pairs.with_status(ProofStatus.INVALID))
    of_second["noise_floor"] = contrast.floor.floor if contrast.floor else None


def _with_short_names(known: dict[str, float | None]) -> dict[str, float | None]:
    return known | {short: known[name] for short, name in SHORT_NAMES.items() if name in known}


def _names(kind: type) -> Iterator[str]:
    """Dotted names of all numbers in a dataclass or NamedTuple; of what has no fixed size only where it is filled."""
    for name, hint in typing.get_type_hints(kind).items():
        inner = _without_none(hint)
        if inner in _NUMBERS:
            yield name
        elif is_dataclass(inner) or hasattr(inner, "_fields"):
            yield from (f"{name}.{part}" for part in _names(inner))


def _numbers(value: Any, prefix: str = "") -> Iterator[tuple[str, float | None]]:
    """(dotted name, number) for all that is in a value; positions in a sequence count from 1."""
    if isinstance(value, _NUMBERS):
        yield prefix.removesuffix("."), value
    for name, inner in _parts(value):
        yield from _numbers(inner, f"{prefix}{name}.")


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if is_dataclass(value):
        yield from ((field.name, getattr(value, field.name)) for field in fields(value))
    elif hasattr(value, "_asdict"):
        yield from value._asdict().items()
    elif isinstance(value, dict):
        yield from ((str(key), inner) for key, inner in value.items())
    elif isinstance(value, tuple):
        yield from ((str(place), inner) for place, inner in enumerate(value, 1))


def _without_none(hint: Any) -> Any:
    if typing.get_origin(hint) not in (types.UnionType, typing.Union):
        return hint
    inner = [one for one in typing.get_args(hint) if one is not type(None)]
    return inner[0] if len(inner) == 1 else hint
