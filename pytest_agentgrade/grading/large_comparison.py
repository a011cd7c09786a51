"""Comparisons too large to be explained: pytest's line by line difference of two long lists can take hours.

A candidate decides how long some lists are, such as the calls of a runner; explaining them must not hold up the run.
"""

from __future__ import annotations

from collections.abc import Iterator

from pytest_agentgrade.grading.answers import render

MAX_PARTS = 500
MAX_CHARACTERS = 20_000
"""Of both sides together. At these sizes the worst that was found took pytest 1.5 s."""


def refuse_large(op: str, left: object, right: object) -> None:
    """Raise AssertionError, with what the comparison says in one line, if explaining it could take long."""
    __tracebackhide__ = True
    parts = characters = 0
    for size in (*_sizes(left), *_sizes(right)):
        parts, characters = parts + 1, characters + size
        if parts > MAX_PARTS or characters > MAX_CHARACTERS:
            raise AssertionError(f"assert {render(left)} {op} {render(right)}\n  too large to be compared line by line")


def _sizes(value: object) -> Iterator[int]:
    """Characters, about, of each part of a plain value; those of a text count its lines as parts."""
    if isinstance(value, str | bytes):
        yield len(value)
        newline = "\n" if isinstance(value, str) else b"\n"
        yield from (0 for _ in range(value.count(newline)))  # type: ignore[arg-type]
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _sizes(key)
            yield from _sizes(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _sizes(item)
    else:
        yield 40
