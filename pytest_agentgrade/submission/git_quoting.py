"""How git writes a path that is not plain ASCII: in double quotes, with C escapes."""

from __future__ import annotations

import re

from pytest_agentgrade.errors import SubmissionRefused
from pytest_agentgrade.escaping import escape

_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}


def unquote(name: str) -> str:
    """A path as git may quote it: in double quotes, with C escapes. What cannot be decoded is refused."""
    if not name.startswith('"'):
        return name
    body = re.fullmatch(r'"((?:[^"\\]|\\[abtnvfr"\\]|\\[0-3][0-7]{2})*)"', name)
    if body is None:
        raise SubmissionRefused(f"path {escape(name, 300)} is not quoted as git does it")
    raw = re.sub(rb'\\([abtnvfr"\\]|[0-7]{3})', _escaped_byte, body[1].encode())
    return raw.decode("utf-8", "surrogateescape")


def _escaped_byte(match: re.Match[bytes]) -> bytes:
    code = match[1].decode()
    return bytes([int(code, 8) if code.isdecimal() else _ESCAPES[code]])


def quote(path: str) -> str:
    """As git writes a path with non-ASCII characters."""
    raw = path.encode("utf-8", "surrogateescape")
    return '"' + "".join(chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}" for byte in raw) + '"'
