"""Which paths a submission may hold, and what is left out on the way in."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_agentgrade.errors import SubmissionRefused
from pytest_agentgrade.escaping import escape
from pytest_agentgrade.submission.tree import Origin, Submission, Tree, TreeFile

_CACHES = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"})
_COMPILED = re.compile(r".*\.(pyc|pyo|pyd|dll|dylib|so(\.[0-9.]+)?)", re.IGNORECASE)
_SHOWN_IN_NOTE = 5


@dataclass(frozen=True)
class IntakeLimits:
    """How much a submission may be; more is refused before it is held in memory."""

    files: int = 5_000
    """Entries of any kind, those that are left out included."""
    bytes: int = 32 << 20
    """Of all files together, those that are left out included."""
    file_bytes: int = 4 << 20
    patch_bytes: int = 4 << 20
    """Of a patch's text."""
    path_length: int = 240
    """Bytes of UTF-8."""
    seconds: float = 60.0


def check_path(path: str, limits: IntakeLimits) -> str:
    """``path`` itself if it is a plain relative path. Raises SubmissionRefused that names it, escaped.

    Refused: absolute, ``.`` and ``..`` parts, anything named like ``.git``, characters that do not print (line breaks,
    control and bidi marks, bytes that were not UTF-8), quotes and backslashes, spaces at the edge of a part, too long.
    """
    reason = _fault(path, limits)
    if reason:
        raise SubmissionRefused(f"path '{escape(path, 300)}' {reason}")
    return path


def left_out(path: str) -> bool:
    """Whether a file is compiled code or a tool's cache, which are never judged."""
    return bool(_CACHES & set(PurePosixPath(path).parts)) or _COMPILED.fullmatch(path) is not None


def make_submission(
    files: Mapping[str, TreeFile], origin: Origin, limits: IntakeLimits, notes: Iterable[str] = ()
) -> Submission:
    """The submission of already checked paths. Raises SubmissionRefused when they contradict or exceed ``limits``."""
    if len(files) > limits.files:
        raise SubmissionRefused(f"{len(files)} files, {limits.files} are allowed")
    total = sum(len(file.data) for file in files.values())
    if total > limits.bytes:
        raise SubmissionRefused(f"the files have {total} bytes, {limits.bytes} are allowed")
    for path, file in files.items():
        if len(file.data) > limits.file_bytes:
            raise SubmissionRefused(f"'{escape(path)}' has {len(file.data)} bytes, {limits.file_bytes} are allowed")
        for parent in PurePosixPath(path).parents:
            if str(parent) in files:
                raise SubmissionRefused(f"'{escape(str(parent))}' is both a file and the folder of '{escape(path)}'")
    kept = {path: file for path, file in files.items() if not left_out(path)}
    return Submission(Tree(kept), origin, (*notes, *left_out_notes(path for path in files if left_out(path))))


def left_out_notes(paths: Iterable[str]) -> tuple[str, ...]:
    """One sentence about files that were left out, none if there were none."""
    names = sorted(paths)
    if not names:
        return ()
    more = f" and {len(names) - _SHOWN_IN_NOTE} more" if len(names) > _SHOWN_IN_NOTE else ""
    shown = ", ".join(escape(name, 120) for name in names[:_SHOWN_IN_NOTE])
    return (f"left out {len(names)} compiled or cache file(s): {shown}{more}",)


def _fault(path: str, limits: IntakeLimits) -> str:
    """What is wrong with the path; empty if nothing is."""
    if not path.isprintable():
        return "holds characters that do not print"
    if len(path.encode()) > limits.path_length:
        return f"is longer than {limits.path_length} bytes"
    if path.startswith("/"):
        return "is absolute"
    if set('"\\') & set(path):
        return "holds a quote or a backslash"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return f"holds {part!r} as a part"
        if part != part.strip():
            return "has spaces at the edge of a part"
        if _is_like_git(part):
            return "is named like git's own folder"
    return ""


def _is_like_git(part: str) -> bool:
    """``.git`` as any file system may see it: case, compatibility forms, NTFS short names and streams, homoglyphs."""
    plain = unicodedata.normalize("NFKC", part).casefold().split(":")[0].rstrip(". ")
    if plain == ".git" or (plain.startswith("git~") and plain[4:].isdecimal()):
        return True
    # Letters that merely look like g, i and t are too many to list: a short dotted name has to be ASCII.
    return plain.startswith(".") and not plain.isascii() and len(unicodedata.normalize("NFD", plain)) <= 8
