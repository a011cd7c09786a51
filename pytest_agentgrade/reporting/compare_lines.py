"""What a comparison says to people: verdict, pairs, budgets, repeats; lines of plain text or Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_agentgrade.analysis.budget_changes import BudgetChange
from pytest_agentgrade.analysis.contrasts import Contrast
from pytest_agentgrade.analysis.experiment import ModePairs, TriedPair
from pytest_agentgrade.analysis.pairs import ProofStatus
from pytest_agentgrade.analysis.timeline import OTHERS_BETWEEN, SESSIONS_APART
from pytest_agentgrade.reporting.noise_text import noise_lines, placebo_lines, placebo_title
from pytest_agentgrade.reporting.verdict_text import p_value, verdict_lines
from pytest_agentgrade.wording import counted

_OTHER_DRAWS = (
    "Other draws: the checks of these attempts were given other random inputs. Run the modes in one run "
    "(pytest --agent-mode={modes}), or give each run --agent-draws=FILE with the same file."
)
_MOST_PAIRS = 12
"""Pairs that are shown one by one; a longer list hides what they have in common."""


def contrast_lines(found: Sequence[Contrast], *, markdown: bool = False) -> list[str]:
    """Each comparison under its title: verdict, state of the pairs, times where both deliver."""
    several = len({contrast.pairs.response_tokens for contrast in found}) > 1
    lines: list[str] = []
    for contrast in found:
        lines += [_title(contrast, several, markdown), *spoken(contrast)]
        lines += [*pair_lines(contrast), *delivered_lines(contrast), ""]
    return lines[:-1]


def pair_lines(contrast: Contrast) -> list[str]:
    """How many pairs are proved, and of the others what differs or is not known."""
    pairs = contrast.pairs
    states = {status: pairs.with_status(status) for status in ProofStatus}
    counts = ", ".join(f"{len(found)} {status.value}" for status, found in states.items())
    alone = f"; {counted(pairs.alone, 'attempt')} without a counted partner" if pairs.alone else ""
    lines = [f"Pairs: {counts}{alone}."]
    if unproven := states[ProofStatus.UNPROVEN]:
        missing = dict.fromkeys(name for pair in unproven for name in pair.proof.missing)
        lines.append(f"Unproven pairs count, but nobody knows that these were equal: {', '.join(missing)}.")
    lines += _apart(pairs)
    return lines + _invalid(states[ProofStatus.INVALID], (pairs.first_mode, pairs.second_mode))


def delivered_lines(contrast: Contrast) -> list[str]:
    """How long both modes took where both deliver: pairs that tell what speed is worth when nothing else differs."""
    both = [pair for pair in contrast.pairs.usable if pair.first.record.delivers and pair.second.record.delivers]
    clocks = [(pair, pair.first.record.agent, pair.second.record.agent) for pair in both]
    rows = [(pair, one.clock_seconds, other.clock_seconds) for pair, one, other in clocks if one and other]
    if not rows:
        return []
    names = contrast.pairs.first_mode, contrast.pairs.second_mode
    lines = [f"Task clock where both deliver, {names[0]} -> {names[1]}:"]
    lines += [
        f"  {pair.cell}: {one:.1f} s -> {other:.1f} s ({_change(one, other)})"
        for pair, one, other in rows[:_MOST_PAIRS]
    ]
    more = len(rows) - _MOST_PAIRS
    return [*lines, f"  and {more} more"] if more > 0 else lines


def budget_lines(changes: Iterable[BudgetChange]) -> list[str]:
    """For each larger budget: whether the gap stays, as far as these attempts can tell."""
    return [_budget(change) for change in changes]


def spoken(contrast: Contrast) -> list[str]:
    """The verdict: finding, noise floor, what these pairs cannot show, and what else there is to say; one line each."""
    if contrast.comparison is None:
        return ["No pair of counted attempts that may be compared: no verdict."]
    finding, *more = verdict_lines(contrast.comparison, contrast.work)
    return [finding, *noise_lines(contrast), *more]


def placebo_section(found: Iterable[Contrast], *, markdown: bool = False) -> list[str]:
    """Each placebo under its title: never a verdict on it."""
    found = tuple(found)
    several = len({contrast.pairs.response_tokens for contrast in found}) > 1
    lines: list[str] = []
    for contrast in found:
        lines += ["", _headed(placebo_title(contrast), contrast, several, markdown)]
        lines += [*placebo_lines(contrast), *pair_lines(contrast)]
    return lines[1:]


def _title(contrast: Contrast, several: bool, markdown: bool) -> str:
    pairs = contrast.pairs
    return _headed(f"{pairs.second_mode} against {pairs.first_mode}", contrast, several, markdown)


def _headed(names: str, contrast: Contrast, several: bool, markdown: bool) -> str:
    title = names + (f", responses of up to {contrast.pairs.response_tokens} tokens" if several else "")
    return f"### {title}" if markdown else f"{title}:"


def _apart(pairs: ModePairs) -> list[str]:
    """Pairs that the plan, but not the course of the run brought together: it was run in parts, or resumed."""
    found = [pair for pair in pairs.blocked if pair.apart in (SESSIONS_APART, OTHERS_BETWEEN)]
    if not found:
        return []
    shown = ", ".join(str(pair.cell) for pair in found[:_MOST_PAIRS])
    more = f" and {len(found) - _MOST_PAIRS} more" if len(found) > _MOST_PAIRS else ""
    why = "; ".join(dict.fromkeys(pair.apart for pair in found))
    return [f"Planned next to each other, but {why}: {shown}{more}. In fact these are blocked pairs."]


def _invalid(pairs: Sequence[TriedPair], modes: tuple[str, str]) -> list[str]:
    if not pairs:
        return []
    lines = [f"Invalid pairs, left out of all paired figures ({modes[0]} | {modes[1]}):"]
    for pair in pairs[:_MOST_PAIRS]:
        lines += [f"  {pair.cell}: {difference}" for difference in pair.proof.lines()]
    more = len(pairs) - _MOST_PAIRS
    lines += [f"  and {more} more"] if more > 0 else []
    return [*lines, _OTHER_DRAWS.format(modes=",".join(modes))] if any(map(_drawn_anew, pairs)) else lines


def _drawn_anew(pair: TriedPair) -> bool:
    """Whether the inputs alone are others; a check that was changed has other draws as well."""
    differ = {difference.what for difference in pair.proof.differences}
    return "draws" in differ and not {"checks", "task"} & differ


def _change(one: float, other: float) -> str:
    return f"{100 * (other / one - 1):+.1f} %" if one > 0 else "from nothing"


def _budget(change: BudgetChange) -> str:
    small, large = change.budgets
    before, after = (f"{100 * gap:+.0f}" for gap in change.gaps)
    low, high = 100 * change.change_interval.low, 100 * change.change_interval.high
    which, p = "95 % interval", f"p {p_value(change.p_adjusted)}"
    if change.comparisons > 1:
        which, p = f"{which} of this change alone", f"{p}, Holm-corrected for {change.comparisons} changes"
    head = (
        f"Budget: {change.second_mode} minus {change.first_mode} is {before} points at {small} tokens, {after} at "
        f"{large} ({counted(change.cells, 'pair')} at both; change {100 * change.change:+.0f}, {which} "
        f"{low:+.0f} to {high:+.0f}; {p})"
    )
    if not change.shown:
        return f"{head}: whether the gap stays at the larger budget, these pairs cannot tell."
    return f"{head}: the gap does not stay, the budget changes it."
