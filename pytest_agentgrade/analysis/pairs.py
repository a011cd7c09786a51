"""Pair proof: two attempts are a pair only if everything except what their modes declare is equal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from pytest_agentgrade.analysis.pair_conditions import Recorded, conditions


class ProofStatus(Enum):
    """What the records say about a pair."""

    PROVEN = "proven"
    INVALID = "invalid"
    """Something differs: never part of a paired figure, but counted and shown."""
    UNPROVEN = "unproven"
    """Nothing is known to differ, but not everything is known (a server reached by URL, JUnit without digests)."""


class Difference(NamedTuple):
    """One condition that is not equal."""

    what: str
    one: str
    other: str


@dataclass(frozen=True)
class PairProof:
    """The proof of one pair."""

    status: ProofStatus
    differences: tuple[Difference, ...] = ()
    missing: tuple[str, ...] = ()
    """Conditions that at least one record does not tell."""

    def lines(self) -> list[str]:
        """The diff for people, one line for each difference; else what is missing."""
        if self.differences:
            return [f"{what}: {one} | {other}" for what, one, other in map(_narrowed, self.differences)]
        return [f"not known: {', '.join(self.missing)}"] if self.missing else []


def prove_pair(first: Recorded, second: Recorded) -> PairProof:
    """Compare all conditions of two attempts, the draws of their checks included.

    Prompt tokens taken from a cache make a pair invalid even when both attempts have the same number of them: a
    cached prefix is computed in other batches, and the time it saves is not the mode's.
    """
    one, other = conditions(first, second)
    differences = [
        Difference(name, one[name] or "", other[name] or "")
        for name in one
        if one[name] is not None and other[name] is not None and one[name] != other[name]
    ]
    differences += _cached(first, second)
    missing = tuple(name for name in one if one[name] is None or other[name] is None)
    if differences:
        return PairProof(ProofStatus.INVALID, tuple(differences), missing)
    return PairProof(ProofStatus.UNPROVEN if missing else ProofStatus.PROVEN, (), missing)


def _cached(first: Recorded, second: Recorded) -> list[Difference]:
    counts = [side.record.agent.cached_tokens if side.record.agent else 0 for side in (first, second)]
    return [Difference("cached prompt tokens (must be 0)", *map(str, counts))] if any(counts) else []


def _narrowed(difference: Difference) -> Difference:
    """Long values that are lists of words: only the words that differ, in their place; digests shortened."""
    what, one, other = difference
    if " " not in one + other:
        return Difference(what, _short(one), _short(other))
    words, opposite = one.split(), other.split()
    begin = 0
    while begin < min(len(words), len(opposite)) and words[begin] == opposite[begin]:
        begin += 1
    end = 0
    while end < min(len(words), len(opposite)) - begin and words[-1 - end] == opposite[-1 - end]:
        end += 1
    return Difference(what, _middle(words, begin, end), _middle(opposite, begin, end))


def _middle(words: list[str], begin: int, end: int) -> str:
    # The word before the first difference is most often the flag whose value differs.
    kept = words[max(0, begin - 1) : len(words) - end]
    return ("... " if begin > 1 else "") + " ".join(kept) + (" ..." if end else "")


def _short(value: str) -> str:
    return value if len(value) <= 40 else f"{value[:12]}..."
