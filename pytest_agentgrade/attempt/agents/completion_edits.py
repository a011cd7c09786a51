"""The edits that one completion's text carries: whole files, SEARCH/REPLACE blocks, unified diffs.

Standard library only: it runs in the agent's container. What counts as an edit is decided here, strictly; whether it
fits the workspace is :mod:`single_program`'s matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_OPENING = re.compile(r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)")
_SEARCH, _MIDDLE, _REPLACE = (re.compile(mark + r"[^\S\n]*[A-Z]*") for mark in ("<{5,9}", "={5,9}", ">{5,9}"))
_PATH = re.compile(r"[\w.+@-]+(?:/[\w.+@-]+)*")
_DIFF_START = re.compile(r"(?:diff --git |--- (?:a/|/dev/null|\S))")
_DIFF_WORDS = frozenset({"diff", "patch", "udiff"})


@dataclass(frozen=True)
class WholeFile:
    """The file is to have this content."""

    path: str
    content: str


@dataclass(frozen=True)
class Replacement:
    """A text that occurs exactly once in the file makes way for another; an empty ``old`` creates the file."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class UnifiedDiff:
    """A patch of any number of files."""

    text: str


@dataclass(frozen=True)
class Unusable:
    """Something that looks like an edit and cannot be one; ``reason`` is a sentence."""

    reason: str


Edit = WholeFile | Replacement | UnifiedDiff | Unusable


@dataclass(frozen=True)
class _Block:
    """A fenced block, or (``fenced`` false) the text between two of them."""

    info: str
    lines: tuple[str, ...]
    before: str
    """Last line with text above it."""
    fenced: bool
    closed: bool = True


def find_edits(text: str) -> tuple[Edit, ...]:
    """All edits in ``text``, in its order.

    - A fenced block with a path - in the info string (``python a/b.py``, ``path=a/b.py``) or alone in the line above -
      is a whole file.
    - ``<<<<<<< SEARCH`` ... ``=======`` ... ``>>>>>>> REPLACE``, inside a fence or not, is a replacement in the file
      whose path stands in the info string, in the line above the fence or in the line above the mark.
    - A block marked ``diff`` or ``patch``, or one that begins like a diff, is a diff; without any fence the text from
      the first such line on is.

    A fenced block without a path is an example, no edit.
    """
    edits: list[Edit] = []
    blocks = list(_blocks(text))
    for block in blocks:
        edits += _edits_of(block)
    if not edits and not any(block.fenced for block in blocks):
        edits += _bare_diff(text)
    return tuple(edits)


def _blocks(text: str) -> Iterator[_Block]:
    """Split into fenced blocks and what lies between them."""
    lines = text.replace("\r\n", "\n").splitlines()
    loose: list[str] = []
    before = ""
    position = 0
    while position < len(lines):
        opening = _OPENING.fullmatch(lines[position].strip())
        if opening is None:
            loose.append(lines[position])
            before = lines[position] if lines[position].strip() else before
            position += 1
            continue
        yield _Block("", tuple(loose), "", fenced=False)
        loose = []
        end = _closing(lines, position + 1, opening["fence"])
        body = tuple(lines[position + 1 : end])
        yield _Block(opening["info"].strip(), body, before, fenced=True, closed=end < len(lines))
        before, position = "", end + 1
    yield _Block("", tuple(loose), "", fenced=False)


def _closing(lines: list[str], start: int, fence: str) -> int:
    """Index of the line that closes a fence; the number of lines when none does."""
    for index in range(start, len(lines)):
        line = lines[index].strip()
        if len(line) >= len(fence) and set(line) == {fence[0]}:
            return index
    return len(lines)


def _edits_of(block: _Block) -> Iterator[Edit]:
    path = (_path_of_info(block.info) or _path_of_line(block.before)) if block.fenced else None
    if block.fenced and not block.closed:
        yield Unusable(f"the block of {path or 'code'} has no end; was the reply cut off?")
    elif any(_SEARCH.fullmatch(line) for line in block.lines):
        yield from _replacements(block.lines, path)
    elif block.fenced and _is_diff(block):
        yield UnifiedDiff("\n".join(block.lines) + "\n")
    elif block.fenced and path is not None:
        yield WholeFile(path, "".join(line + "\n" for line in block.lines))


def _is_diff(block: _Block) -> bool:
    first = next((line for line in block.lines if line.strip()), "")
    words = set(block.info.split())
    return bool(words & _DIFF_WORDS) or (_DIFF_START.match(first) is not None and any(
        line.startswith("@@ ") for line in block.lines
    ))  # fmt: skip


def _path_of_info(info: str) -> str | None:
    """``python a/b.py``, ``path=a/b.py``, ``python:a/b.py``, ``a/b.py``; a language alone is no path."""
    for word in reversed(re.split(r"[\s:=]+", info)):
        path = word.strip("\"'{}()")
        if _PATH.fullmatch(path) and ("/" in path or "." in path):
            return path
    return None


def _path_of_line(line: str) -> str | None:
    """A path that stands alone in its line, but for the signs Markdown puts around it."""
    text = re.sub(r"^(#+|[-*]|\d+\.)\s+", "", line.strip())
    text = re.sub(r"^(?:File|Path|file|path)(?:name)?:?\s+", "", text.strip("*").rstrip(":").strip())
    text = text.strip("*`").rstrip(":").strip("`")
    return text if _PATH.fullmatch(text) and ("/" in text or "." in text) else None


def _replacements(lines: tuple[str, ...], path: str | None) -> Iterator[Edit]:
    position = 0
    while position < len(lines):
        if _SEARCH.fullmatch(lines[position]) is None:
            path = _path_of_line(lines[position]) or path
            position += 1
            continue
        middle = _find(_MIDDLE, lines, position + 1)
        end = _find(_REPLACE, lines, middle + 1)
        if end >= len(lines):
            yield Unusable(f"a SEARCH block for {path or 'a file'} has no end; was the reply cut off?")
            return
        old, new = ("".join(line + "\n" for line in part) for part in (lines[position + 1 : middle],
                                                                       lines[middle + 1 : end]))  # fmt: skip
        if path is None:
            yield Unusable("a SEARCH block names no file")
        else:
            yield Replacement(path, old, new)
        position = end + 1


def _find(mark: re.Pattern[str], lines: tuple[str, ...], start: int) -> int:
    return next((index for index in range(start, len(lines)) if mark.fullmatch(lines[index])), len(lines))


def _bare_diff(text: str) -> Iterator[Edit]:
    """A diff that is the reply itself: everything from its first line on."""
    lines = text.replace("\r\n", "\n").splitlines()
    starts = (index for index, line in enumerate(lines) if _DIFF_START.match(line))
    start = next((index for index in starts if any(line.startswith("@@ ") for line in lines[index:])), None)
    if start is not None:
        yield UnifiedDiff("\n".join(lines[start:]) + "\n")
