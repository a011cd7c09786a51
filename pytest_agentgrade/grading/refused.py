"""A submission that is no plain tree of files: every question about it is a failure."""

from __future__ import annotations

from typing import NoReturn

from pytest_agentgrade.errors import CandidateFailed


class RefusedCandidate:
    """Stands in a check where a :class:`~pytest_agentgrade.grading.candidate.Candidate` would."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def conclude(self) -> None:
        """A check that asked nothing has not failed yet: now it has."""
        raise CandidateFailed(self._reason)

    def dismiss(self) -> None:
        """Nothing to end."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise CandidateFailed(self._reason)
