"""The tables of speeds, drafts and memory, and what has to be said beside them."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_agentgrade.analysis.speed import ModeSpeed
from pytest_agentgrade.analysis.summary import ModeSummary
from pytest_agentgrade.wording import counted

_NONE = "-"
Table = tuple[Sequence[str], Sequence[Sequence[str]]]
"""Head and rows."""
_SPEED_HEAD = (
    "speed", "tok/s", "short tool\nchoices", "without\nloops", "looping\nresponses", "first\ntoken", "prompt\ntok/s",
)  # fmt: skip
_DRAFTS_HEAD = ("drafts,\nmemory", "drafts\naccepted", "accepted\nlength", "peak\nmemory")


def speed_tables(names: Sequence[str], summaries: Sequence[ModeSummary]) -> list[Table]:
    """Speed by kind of response, then drafts and memory; each only where a mode has figures for it.

    The overall speed alone, which the first table of a report has too, makes no table.
    """
    pairs = list(zip(names, summaries, strict=True))
    speeds = [_speed_row(name, one) for name, one in pairs]
    others = [_drafts_row(name, one) for name, one in pairs]
    found: list[Table] = [(_SPEED_HEAD, speeds)] if any(_tells(row[2:]) for row in speeds) else []
    return found + ([(_DRAFTS_HEAD, others)] if any(_tells(row[1:]) for row in others) else [])


def _tells(cells: Sequence[str]) -> bool:
    return any(cell != _NONE for cell in cells)


def _speed_row(name: str, one: ModeSummary) -> list[str]:
    speed = one.speed
    known = speed.without_loops is not None or speed.looping_responses > 0
    return [
        name,
        _number(one.tokens_per_second),
        _short(speed),
        _number(speed.without_loops),
        str(speed.looping_responses) if known else _NONE,
        _number(speed.first_token_seconds, " s", places=2),
        _number(speed.prompt_per_second),
    ]


def _drafts_row(name: str, one: ModeSummary) -> list[str]:
    accepted = _NONE if one.acceptance_rate is None else f"{one.accepted}/{one.drafted} ({one.acceptance_rate:.0%})"
    return [name, accepted, _accepted(one.speed), _memory(one.speed)]


def speed_notes(summaries: Sequence[ModeSummary]) -> list[str]:
    """What the tables' figures leave open."""
    notes = []
    for one in summaries:
        speed = one.speed
        if speed.disagreements:
            where = f"{counted(speed.disagreements, 'time')}, in {counted(speed.disagreeing_attempts, 'attempt')}"
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
