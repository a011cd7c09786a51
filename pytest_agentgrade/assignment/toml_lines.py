"""On which line of a TOML file a key stands; for messages, so it looks at lines and knows no more of TOML."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PART = r"""[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*'"""
_KEY = rf"(?:{_PART})(?:\s*\.\s*(?:{_PART}))*"
_TABLE = re.compile(rf"\s*\[{{1,2}}\s*(?P<key>{_KEY})\s*\]{{1,2}}\s*(?:#.*)?")
_ENTRY = re.compile(rf"\s*(?P<key>{_KEY})\s*=")


def line_of(text: str, path: Sequence[str]) -> int | None:
    """The line, counted from 1, that sets ``path``, or else the innermost table or value around it; None: neither."""
    table: list[str] = []
    best: tuple[int, int] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if (match := _TABLE.fullmatch(line)) is not None:
            key = table = _parts(match["key"])
        elif (match := _ENTRY.match(line)) is not None:
            key = [*table, *_parts(match["key"])]
        else:
            continue
        if key == list(path[: len(key)]) and (best is None or len(key) > best[0]):
            best = len(key), number
    return None if best is None else best[1]


def _parts(key: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(_PART, key)]
