"""The part of the page on each comparison: its verdict, and its pairs with their proof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_agentgrade.analysis.contrasts import Contrast
from pytest_agentgrade.analysis.experiment import TriedPair
from pytest_agentgrade.analysis.figures import Comparison
from pytest_agentgrade.analysis.pair_conditions import Recorded
from pytest_agentgrade.records.model import KeyRecord
from pytest_agentgrade.reporting.compare_lines import pair_lines, spoken
from pytest_agentgrade.reporting.html_attempts import Attempt, by_key
from pytest_agentgrade.reporting.html_charts import DumbbellChart, clock_chart
from pytest_agentgrade.reporting.html_parts import Cell, Table
from pytest_agentgrade.reporting.noise_text import noise_lines, placebo_lines, placebo_title


@dataclass(frozen=True)
class ContrastPart:
    """Two modes, one against the other."""

    title: str
    verdict: tuple[str, ...]
    """The first sentences; empty for a placebo, which is no contender."""
    more: tuple[str, ...]
    """What else is said, one sentence each."""
    outcomes: Table | None
    """The paired 2 x 2 table."""
    pairs: Table
    chart: DumbbellChart | None


def contrast_parts(contrasts: Sequence[Contrast], attempts: Sequence[Attempt]) -> tuple[ContrastPart, ...]:
    """One part for each comparison; the response budget is named where there are several."""
    places = by_key(attempts)
    return tuple(
        _part(
            contrast,
            f"{contrast.pairs.second_mode} against {contrast.pairs.first_mode}{_budget(contrast, contrasts)}",
            # What was found, how that compares with noise, and what these pairs cannot show.
            spoken(contrast),
            2 + len(noise_lines(contrast)),
            places,
        )
        for contrast in contrasts
    )


def placebo_parts(placebos: Sequence[Contrast], attempts: Sequence[Attempt]) -> tuple[ContrastPart, ...]:
    """One part for each placebo against its mode."""
    places = by_key(attempts)
    return tuple(
        _part(contrast, placebo_title(contrast) + _budget(contrast, placebos), placebo_lines(contrast), 0, places)
        for contrast in placebos
    )


def _budget(contrast: Contrast, everyone: Sequence[Contrast]) -> str:
    several = len({one.pairs.response_tokens for one in everyone}) > 1
    return f", responses of up to {contrast.pairs.response_tokens:,} tokens" if several else ""


def _part(
    contrast: Contrast, title: str, said: Sequence[str], first: int, places: Mapping[KeyRecord, Attempt]
) -> ContrastPart:
    pairs, comparison = contrast.pairs, contrast.comparison
    modes = pairs.first_mode, pairs.second_mode
    state = [line for line in pair_lines(contrast) if not line.startswith("  ") and not line.endswith(":")]
    return ContrastPart(
        title=title,
        verdict=tuple(said[:first]),
        # What differs in each pair stands in the table.
        more=(*said[first:], *state),
        outcomes=None if comparison is None else _outcomes(comparison),
        pairs=Table(
            ("pair", *modes, "proof", "what differs, or is not known"), [_pair(one, places) for one in pairs.tried]
        ),
        chart=clock_chart(modes, pairs.usable),
    )


def _outcomes(comparison: Comparison) -> Table:
    counts, first, second = comparison.counts, comparison.first.mode, comparison.second.mode
    rows = (
        ("both", counts.both),
        (f"{first} alone", counts.first_only),
        (f"{second} alone", counts.second_only),
        ("neither", counts.neither),
    )
    return Table(("who leaves a working patch", "pairs"), [[Cell(name), Cell(str(found))] for name, found in rows])


def _pair(pair: TriedPair, places: Mapping[KeyRecord, Attempt]) -> list[Cell]:
    status = pair.proof.status.value
    sides = [_side(one, places) for one in (pair.first, pair.second)]
    told = "\n".join(pair.proof.lines()) or "nothing but the mode"
    return [Cell(str(pair.cell)), *sides, Cell(status, pair.order, kind=status), Cell(told)]


def _side(one: Recorded, places: Mapping[KeyRecord, Attempt]) -> Cell:
    attempt = places[one.record.key]
    return Cell(attempt.score, attempt.clock, attempt.id, attempt.state)
