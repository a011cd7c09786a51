"""What a hidden check imports: the two decorators, and the type of its one argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pytest_agentgrade.grading.candidate import Candidate

__all__ = ["Candidate", "beyond", "kills"]

_F = TypeVar("_F", bound=Callable[..., None])


def kills(*solutions: str) -> Callable[[_F], _F]:
    """Name the wrong solutions (``untouched`` or files of ``wrong/``) that must fail this check.

    Random inputs are drawn again until the reference passes and every solution named here fails.
    """

    def mark(check: _F) -> _F:
        check.agentgrade_kills = solutions  # type: ignore[attr-defined]
        return check

    return mark


def beyond(check: _F) -> _F:
    """Mark a check that goes further than the prompt asks: reported apart, never counted."""
    check.agentgrade_beyond = True  # type: ignore[attr-defined]
    return check


def __getattr__(name: str) -> object:
    """Import ``Candidate`` only when somebody asks for it: task modules need it for annotations alone."""
    if name == "Candidate":
        from pytest_agentgrade.grading.candidate import Candidate

        return Candidate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
