"""Which mode was the server really in? Judged from what it said and from the drafts that were counted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pytest_agentgrade.assignment.mode import Mode

_ENOUGH_DRAFTS = 20
"""Draft tokens below which an acceptance rate says nothing."""
_HARDLY_ANY = 0.02
"""Acceptance rate below which drafting is only a cost."""


class ProofStatus(Enum):
    """What the evidence says about a mode's promise."""

    PROVEN = "proven"
    CONTRADICTED = "contradicted"
    UNPROVEN = "unproven"


@dataclass(frozen=True)
class ModeProof:
    """The verdict and the sentences that lead to it."""

    status: ProofStatus
    sentences: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def prove_mode(mode: Mode, slots_speculative: bool | None, drafted: int | None, accepted: int | None) -> ModeProof:
    """Compare what ``mode`` promises with the evidence.

    ``slots_speculative`` is what ``/slots`` says, ``drafted`` and ``accepted`` are totals of draft tokens over the
    requests in question; None means the server did not say (for the totals: no request was made yet, or the server
    reports none).
    """
    sentences = (_slots_sentence(slots_speculative), _drafts_sentence(drafted, accepted))
    if mode.speculates is None:
        promise = f"mode {mode.name} does not say whether it speculates"
        return ModeProof(ProofStatus.UNPROVEN, (promise, *sentences))
    judge = _judge_speculating if mode.speculates else _judge_plain
    status, reason = judge(slots_speculative, drafted)
    return ModeProof(status, (f"mode {mode.name} {reason}", *sentences), _warnings(drafted, accepted))


def _judge_speculating(slots: bool | None, drafted: int | None) -> tuple[ProofStatus, str]:
    if slots is False:
        return ProofStatus.CONTRADICTED, "should speculate, but the server's slots do not"
    if drafted == 0:
        return ProofStatus.CONTRADICTED, "should speculate, but no draft was made"
    if drafted is None:
        return ProofStatus.UNPROVEN, "should speculate, and drafts were not counted yet"
    return ProofStatus.PROVEN, "speculates, as it should"


def _judge_plain(slots: bool | None, drafted: int | None) -> tuple[ProofStatus, str]:
    if drafted:
        return ProofStatus.CONTRADICTED, "should not speculate, but drafts were made"
    if slots:
        return ProofStatus.CONTRADICTED, "should not speculate, but the server's slots do"
    if slots is None and drafted is None:
        return ProofStatus.UNPROVEN, "should not speculate, and the server does not say whether it does"
    return ProofStatus.PROVEN, "does not speculate, as it should"


def _slots_sentence(slots: bool | None) -> str:
    if slots is None:
        return "/slots says nothing about speculation"
    return f"/slots says speculative: {str(slots).lower()}"


def _drafts_sentence(drafted: int | None, accepted: int | None) -> str:
    if drafted is None:
        return "no count of drafts"
    return f"{drafted} draft tokens, {accepted or 0} accepted"


def _warnings(drafted: int | None, accepted: int | None) -> tuple[str, ...]:
    if not drafted or drafted < _ENOUGH_DRAFTS or (accepted or 0) >= _HARDLY_ANY * drafted:
        return ()
    return (
        f"hardly any draft is accepted ({accepted or 0} of {drafted} draft tokens): drafting only costs time; "
        "does the drafting head belong to this model?",
    )
