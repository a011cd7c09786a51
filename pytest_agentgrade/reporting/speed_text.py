"""The table of speeds, and what has to be said beside it."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_agentgrade.analysis.speed import ModeSpeed
from pytest_agentgrade.analysis.summary import ModeSummary

_NONE = "-"
SPEED_HEAD = (
    "speed", "tok/s", "short tool choices", "without loops", "first token", "prompt tok/s", "accepted length",
    "peak memory",
)  # fmt: skip


def speed_row(name: str, one: ModeSummary) -> list[str]:
    """A row under :data:`SPEED_HEAD`."""
    speed = one.speed
    return [
        name,
        _number(one.tokens_per_second),
        _short(speed),
        _number(speed.without_loops) + (f" (-{speed.looping_responses})" if speed.looping_responses else ""),
        _number(speed.first_token_seconds, " s", places=2),
        _number(speed.prompt_per_second),
        _accepted(speed),
        _memory(speed),
    ]


def has_speed(summaries: Sequence[ModeSummary]) -> bool:
    """Whether any mode has a figure for the table beyond its overall speed, which the first table has."""
    return any(row != _NONE for one in summaries for row in speed_row("", one)[2:])


def speed_notes(summaries: Sequence[ModeSummary]) -> list[str]:
    """What the table's figures leave open."""
    notes = []
    for one in summaries:
        speed = one.speed
        if speed.disagreements:
            where = f"{speed.disagreements} times, in {speed.disagreeing_attempts} attempts"
            notes.append(f"{one.mode}: counts of tokens disagree {where}; the records say which.")
        if len(speed.accepted_at) > 1:
            shares = ", ".join(f"{share:.0%}" for share in speed.accepted_at)
            notes.append(f"{one.mode}: steps that accepted draft 1, 2, ...: {shares}.")
    if any(one.speed.accepted_length_estimated for one in summaries):
        notes.append("~: the server does not count verification steps; estimated from its timings.")
    return notes


def _short(speed: ModeSpeed) -> str:
    if speed.short is None or speed.short_low is None or speed.short_high is None:
        return _NONE
    spread = f" ({speed.short_low:.1f}-{speed.short_high:.1f})"
    return f"{speed.short:.1f}" + (spread if speed.short_low != speed.short_high else "")


def _accepted(speed: ModeSpeed) -> str:
    mark = "~" if speed.accepted_length_estimated else ""
    return _NONE if speed.accepted_length is None else f"{mark}{speed.accepted_length:.2f}"


def _memory(speed: ModeSpeed) -> str:
    found = [f"{_gib(speed.peak_rss_bytes)}"] if speed.peak_rss_bytes is not None else []
    found += [f"{_gib(speed.vram_bytes)} GPU"] if speed.vram_bytes is not None else []
    return " + ".join(found) or _NONE


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def _number(value: float | None, unit: str = "", *, places: int = 1) -> str:
    return _NONE if value is None else f"{value:.{places}f}{unit}"
