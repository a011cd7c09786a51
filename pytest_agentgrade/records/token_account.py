"""The part of a record that says how many tokens there were, by whose count, and how fast they came."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SpeedRecord(_Record):
    """Generation over a class of responses: tokens and the server's own seconds for them."""

    responses: int = 0
    tokens: int = 0
    seconds: float = 0.0


class DraftSteps(_Record):
    """What ``/metrics`` counted over the attempt; drafts of other clients of the same server are in it."""

    drafted: int
    accepted: int
    steps: int
    """Verification steps that had drafts."""
    accepted_at: list[int] = Field(default_factory=list)
    """Accepted drafts at each position of a draft, the first position first; empty where it is not told."""


class TokenAccount(_Record):
    """The attempt's tokens as counted from several sides, and what the counts do not agree in."""

    delivered_pieces: int = 0
    """Streamed pieces that the proxy saw: one for about every token, and a lower bound."""
    usage_tokens: int | None = None
    """Sum over ``usage``; None when no response had it (a response that was cut has none)."""
    timings_tokens: int | None = None
    """Sum over the server's timings."""
    reasoning_tokens: int | None = None
    """None when nobody could count those of some response."""
    reasoning_estimated: bool = False
    """Counted from the text by the server's tokenizer, not while they were generated."""
    disagreements: list[str] = Field(default_factory=list)
    """One sentence for each two counts of a response that differ by more than tokens that are never shown."""
