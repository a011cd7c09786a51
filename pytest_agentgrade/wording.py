"""Numbers in sentences."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 task``, ``2 tasks``, ``1,200 tasks``; ``plural`` where it is not noun + s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
