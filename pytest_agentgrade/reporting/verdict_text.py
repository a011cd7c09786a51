"""The verdict in plain sentences: who delivers more, how sure that is, and what these pairs cannot show."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from pytest_agentgrade.analysis.figures import Comparison, KindOfWork, RateFigures

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def verdict_lines(comparison: Comparison, work: KindOfWork | None = None) -> list[str]:
    """Two sentences, the patches per hour, what it means by kind of work, and what limits it; one line each."""
    lines = [_finding(comparison), _reach(comparison), _per_hour(comparison), _kinds(comparison, work)]
    lines += [_several_tries(comparison), _checks(comparison), _time(comparison), *_reservations(comparison)]
    return [line for line in lines if line]


def _finding(c: Comparison) -> str:
    second, first = c.counts.both + c.counts.second_only, c.counts.both + c.counts.first_only
    # The interval is not corrected: with several comparisons it may leave out 0 while the verdict names no winner.
    which = "95 % interval of this comparison alone" if c.comparisons > 1 else "95 % interval"
    interval = f"{which} {points(c.difference_interval.low)} to {points(c.difference_interval.high)}"
    p = f"exact McNemar p {p_value(c.p_adjusted)}"
    if c.comparisons > 1:
        p += f", Holm-corrected for {c.comparisons} comparisons"
    if c.winner is None:
        return (
            f"No evidence that {c.second.mode} or {c.first.mode} delivers more working patches: "
            f"{c.second.mode} {second} of {c.pairs}, {c.first.mode} {first} of {c.pairs}, "
            f"{points(c.difference)} points ({interval}; {p})."
        )
    more, less = (second, first) if c.difference > 0 else (first, second)
    loser = c.first.mode if c.winner == c.second.mode else c.second.mode
    return (
        f"{c.winner} delivers more working patches than {loser} on these tasks: {more} of {c.pairs} against "
        f"{less} of {c.pairs}; {c.second.mode} minus {c.first.mode}: {points(c.difference)} points ({interval}; {p})."
        f"{_granted(c)}"
    )


def _granted(c: Comparison) -> str:
    """What a winner rests on beside the test."""
    granted = [f"nothing drifted with time ({_order(c)})"] if c.blocked_pairs else []
    if c.unproven_pairs:
        granted.append(f"what is not known of {number_of(c.unproven_pairs).lower()} was equal")
    return f" Taken for granted: {' and '.join(granted)}." if granted else ""


def _order(c: Comparison) -> str:
    """What is not balanced about the order in which the attempts ran."""
    if c.blocked_pairs == c.pairs:
        return "the modes ran one after the other"
    return f"in {c.blocked_pairs} of {c.pairs} pairs the modes did not run next to each other"


def _reach(c: Comparison) -> str:
    power = c.power
    if power.detectable is None:
        cannot = f"{number_of(c.pairs)} cannot show any difference, however large"
    else:
        cannot = f"{number_of(c.pairs)} cannot reliably show a difference under {100 * power.detectable:.0f} points"
    would = []
    if c.winner is None and power.pairs_for_observed is not None and power.pairs_for_observed > c.pairs:
        would.append(f"about {power.pairs_for_observed:,} pairs would show the observed one if it is the true one")
    if power.pairs_for_named is None:
        would.append(f"one of {100 * power.named_difference:.0f} points is out of reach")
    elif power.pairs_for_named > c.pairs:
        would.append(
            f"about {power.pairs_for_named:,} pairs would show one of {100 * power.named_difference:.0f} points"
        )
    level = "level 5 %" + (f" over all {c.comparisons} comparisons" if c.comparisons > 1 else "")
    return f"{cannot}{'; ' if would else ''}{', '.join(would)} (chance 80 %, {level})."


def _per_hour(c: Comparison) -> str:
    rates = c.rates
    if rates is None:
        return ""
    text = f"Working patches per hour: {c.second.mode} {rates.second:.1f}, {c.first.mode} {rates.first:.1f}"
    text += _ratio(rates)
    if c.faster_per_hour:
        p = p_value(rates.p_adjusted) + (f", corrected for {c.comparisons} comparisons" if c.comparisons > 1 else "")
        return f"{text}; {c.faster_per_hour} delivers more of them per hour (p {p})."
    return f"{text}; these pairs do not tell which delivers more per hour."


def _kinds(c: Comparison, work: KindOfWork | None) -> str:
    if work is None or not work.short_first or not work.short_second:
        return ""
    short = (
        f"By kind of work: short tool choices and chat run {work.short_second / work.short_first:.2f} times as fast "
        f"with {c.second.mode} ({work.short_second:.1f} against {work.short_first:.1f} tok/s)"
    )
    if work.all_first and work.all_second:
        short += f", all responses {work.all_second / work.all_first:.2f} times"
    if c.rates is None or c.rates.ratio is None:
        return f"{short}; for whole patches there is no ratio."
    known = "" if c.faster_per_hour else ", which these pairs cannot tell from no change"
    return f"{short}; whole patches per hour come to {c.rates.ratio:.2f} times{known}."


def _several_tries(c: Comparison) -> str:
    """pass@k of all counted attempts of both modes; pass@1 alone is the success rate."""
    ks = [k for k in (1, 2, 5, 10, 20) if k in c.first.pass_at_k and k in c.second.pass_at_k]
    if len(ks) < 2:
        return ""
    sides = (f"{one.mode} {', '.join(f'{100 * one.pass_at_k[k]:.0f} %' for k in ks)}" for one in (c.second, c.first))
    return f"A working patch in {_listed(ks)} attempts at a task (pass@k, mean over tasks): {'; '.join(sides)}."


def _checks(c: Comparison) -> str:
    """Shown for what they are: the checks of one attempt stand and fall together."""
    low, high = points(c.check_difference_interval.low), points(c.check_difference_interval.high)
    return (
        f"Checks passed, mean over attempts: {c.second.mode} {100 * c.second.check_share:.0f} %, {c.first.mode} "
        f"{100 * c.first.check_share:.0f} %; over the pairs {points(c.check_difference)} points (95 % interval {low} "
        f"to {high})."
    )


def _listed(numbers: Sequence[int]) -> str:
    *before, last = map(str, numbers)
    return f"{', '.join(before)} or {last}"


def _time(c: Comparison) -> str:
    """Speed alone, named as such."""
    if c.times is None or c.times.p * c.comparisons > c.alpha or c.times.tends_to == 0:
        return ""
    quicker = c.second.mode if c.times.tends_to < 0 else c.first.mode
    p = p_value(min(1.0, c.times.p * c.comparisons))
    return f"Attempts of {quicker} end sooner (p {p}): that is speed, it says nothing about what they deliver."


def _reservations(c: Comparison) -> list[str]:
    said = [f"{c.population.reason}."] if c.population.reason else []
    if c.population.difference_interval is not None:
        low, high = c.population.difference_interval.low, c.population.difference_interval.high
        said.append(f"For tasks like these {c.tasks}: {points(low)} to {points(high)} points (95 %, by task).")
    if c.blocked_pairs:
        order = _order(c)
        said.append(f"{order[0].upper()}{order[1:]}: what drifts with time may pass for a difference.")
    if c.invalid_pairs:
        said.append(f"Left out: {number_of(c.invalid_pairs, 'invalid pair').lower()}, not equal but for the mode.")
    if not c.balanced:
        said.append("Tasks have different numbers of pairs and weigh accordingly.")
    return said


def _ratio(rates: RateFigures) -> str:
    limits = rates.ratio_interval
    if rates.ratio is None:
        return f", at least {limits.low:.2f} times as many (95 %)" if limits and limits.low > 0 else ""
    if limits is None:
        return f", ratio {rates.ratio:.2f} (too few pairs for an interval)"
    if not isfinite(limits.high):
        return f", ratio {rates.ratio:.2f} (95 % interval from {limits.low:.2f}; so few patches set no upper end)"
    return f", ratio {rates.ratio:.2f} (95 % interval {limits.low:.2f} to {limits.high:.2f})"


def number_of(count: int, word: str = "pair") -> str:
    """``Eight pairs``, ``One pair``, ``31 pairs``."""
    text = _WORDS[count].capitalize() if count < len(_WORDS) else f"{count:,}"
    return f"{text} {word}" + ("" if count == 1 else "s")


def points(share: float) -> str:
    """A difference of shares in percentage points, signed; what is not 0 does not look like it."""
    found = 100 * share
    if abs(found) < 0.05:
        return "0"
    return f"{found:+.1f}" if abs(found) < 1 else f"{found:+.0f}"


def p_value(p: float) -> str:
    """``= 0.031``, ``< 0.001``; near the level it is compared with, digits enough to tell on which side it lies."""
    if p < 0.001:
        return "< 0.001"
    if 0.0495 <= p < 0.0505:
        return f"= {p:.5f}"
    return f"= {p:.3f}" if p < 0.1 else f"= {p:.2f}"
