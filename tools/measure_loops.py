"""How often is ordinary text taken for a loop, and how soon is a loop found? Prints the figures of docs/loops.md.

    nice python tools/measure_loops.py            # about 1,400 texts, 2,400 loops; two minutes
    nice python tools/measure_loops.py --sweep    # other thresholds too
    nice python tools/measure_loops.py --share 0.1 --each 2

Texts are chosen and loops are made with fixed seeds; which texts there are depends on the packages of the machine.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from loop_corpora import Text, ordinary_texts
from loop_specimens import KINDS, SEED, WITHIN, Sources, Specimen, specimens

from pytest_agentgrade.attempt.loop_similar import RULES, highest_share, phrase_gaps
from pytest_agentgrade.attempt.loops import Loop, find_loop_in

SHARES = (0.70, 0.74, 0.78, 0.82, 0.86, 0.90, 0.92, 0.94)


def main() -> None:
    """Measure and print, as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, help="share of each corpus (default: all of it)")
    parser.add_argument("--each", type=int, default=20, help="loops of each kind and period (default: 20)")
    parser.add_argument("--seed", type=int, default=SEED, help="another one chooses other texts and makes other loops")
    parser.add_argument("--sweep", action="store_true", help="also other shares for each rule on near-duplicates")
    options = parser.parse_args()
    warnings.simplefilter("ignore", SyntaxWarning)  # of old sources that are only parsed
    texts = list(ordinary_texts(options.share, options.seed))
    loops = list(specimens(sources_of(texts), options.each, options.seed))
    alarms = false_alarms(texts)
    print("\n".join((*corpus_table(texts, alarms), "", *alarm_lines(alarms), "", *loop_table(loops))))
    if options.sweep:
        print("\n".join(("", *sweep_table(texts, loops))))


def sources_of(texts: Iterable[Text]) -> Sources:
    """What loops are cut from."""
    prose = [text.tokens for text in texts if text.kind != "code"]
    return Sources(prose, [text.tokens for text in texts if text.kind == "code"])


def false_alarms(texts: Iterable[Text]) -> list[tuple[Text, Loop]]:
    """Ordinary texts that are taken for loops."""
    return [(text, loop) for text in texts if (loop := find_loop_in(text.tokens)) is not None]


def found_in_time(specimen: Specimen) -> Loop | None:
    """The loop that is found within :data:`WITHIN` tokens of its start, and not before it."""
    loop = find_loop_in(specimen.tokens)
    return loop if loop is not None and specimen.start < loop.detected <= specimen.start + WITHIN else None


def corpus_table(texts: Sequence[Text], alarms: Sequence[tuple[Text, Loop]]) -> list[str]:
    """Texts, tokens and false alarms of each corpus and kind."""
    wrong = Counter((text.kind, text.package) for text, _ in alarms)
    lines = ["| kind | texts from | texts | tokens | taken for a loop |", "| --- | --- | ---: | ---: | ---: |"]
    for kind in ("code", "prose", "reasoning"):
        packages = dict.fromkeys(text.package for text in texts if text.kind == kind)
        for package in packages:
            group = [text for text in texts if (text.kind, text.package) == (kind, package)]
            lines.append(_corpus_row(kind, package, group, wrong[kind, package]))
        group = [text for text in texts if text.kind == kind]
        lines.append(_corpus_row(f"**{kind}**", "all", group, sum(text.kind == kind for text, _ in alarms)))
    return [*lines, _corpus_row("**all**", "", texts, len(alarms))]


def alarm_lines(alarms: Sequence[tuple[Text, Loop]]) -> list[str]:
    """Each false alarm by name."""
    return [f"- {text.package}: `{text.name}`: {loop}" for text, loop in alarms]


def loop_table(loops: Sequence[Specimen]) -> list[str]:
    """Share found in time, and how well the start is known, for each kind of loop."""
    head = (
        f"| loops | made | found within {WITHIN} tokens | worst period | tokens until found | start off by |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    )
    groups = [(kind, [one for one in loops if one.kind == kind]) for kind in KINDS]
    return [*head, *(_loop_row(kind, group) for kind, group in [*groups, ("**all**", list(loops))])]


def sweep_table(texts: Sequence[Text], loops: Sequence[Specimen]) -> list[str]:
    """For each rule on near-duplicates alone and each share: false alarms, and loops with changed words found."""
    changed = [one for one in loops if "changed" in one.kind or "paragraphs" in one.kind]
    lines = ["| tokens back | window | share | ordinary texts | changed or alternating loops |"]
    lines.append("| ---: | ---: | ---: | ---: | ---: |")
    for rule in RULES:
        ordinary = [highest_share(len(text.tokens), *phrase_gaps(text.tokens), rule) for text in texts]
        made = [highest_share(len(one.tokens), *phrase_gaps(one.tokens), rule) for one in changed]
        for share in SHARES:
            figures = (sum(value >= share for value in values) / len(values) for values in (ordinary, made))
            cells = " | ".join(f"{figure:.2%}" for figure in figures)
            lines.append(f"| {rule.nearest} - {rule.farthest} | {rule.window} | {share:.2f} | {cells} |")
    return lines


def _corpus_row(kind: str, package: str, group: Sequence[Text], wrong: int) -> str:
    tokens = sum(len(text.tokens) for text in group)
    return f"| {kind} | {package} | {len(group):,} | {tokens:,} | {wrong} ({wrong / max(1, len(group)):.2%}) |"


def _loop_row(kind: str, group: Sequence[Specimen]) -> str:
    found = [(one, found_in_time(one)) for one in group]
    by_period = {
        period: sum(loop is not None for one, loop in found if one.period == period)
        / sum(one.period == period for one in group)
        for period in dict.fromkeys(one.period for one in group)
    }
    worst = min(by_period, key=lambda period: by_period[period])
    hits = [(one, loop) for one, loop in found if loop is not None]
    off = median(abs(loop.start - one.start) for one, loop in hits)
    until = median(loop.detected - one.start for one, loop in hits)
    share = len(hits) / len(group)
    return f"| {kind} | {len(group):,} | {share:.1%} | {worst}: {by_period[worst]:.0%} | {until:.0f} | {off:.0f} |"


if __name__ == "__main__":
    main()
