"""Text from outside - candidate, agent, model, server - is escaped here, once, when it comes in."""

from __future__ import annotations

import unicodedata

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Control, format (bidi marks among them), surrogate, private, unassigned, line and paragraph separators."""


def escape(text: str, limit: int = 2_000, *, keep_newlines: bool = False) -> str:
    """Make ``text`` harmless in a terminal, XML, HTML, CSV and JSON; cut it at ``limit`` characters with a note.

    Control, bidi, surrogate and unassigned characters become backslash escapes (as in a Python literal); a backslash
    itself is kept, so the result is for reading, not for decoding. Newline and tab survive with ``keep_newlines``.
    """
    kept = "\n\t" if keep_newlines else ""
    shown = text[:limit]
    out = "".join(char if char in kept else _escape_char(char) for char in shown)
    dropped = len(text) - len(shown)
    return f"{out}... [{dropped} more characters]" if dropped > 0 else out


def escape_bytes(data: bytes, limit: int = 2_000, *, keep_newlines: bool = False) -> str:
    """Like :func:`escape` for bytes that should be UTF-8; bytes that are not become ``\\xNN``."""
    return escape(data[: limit * 4].decode("utf-8", "backslashreplace"), limit, keep_newlines=keep_newlines)


def _escape_char(char: str) -> str:
    if unicodedata.category(char) not in _HIDDEN_CATEGORIES:
        return char
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
