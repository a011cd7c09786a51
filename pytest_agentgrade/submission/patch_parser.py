"""The text of a patch as values. Every line is accounted for, or the whole patch is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_agentgrade.errors import SubmissionRefused
from pytest_agentgrade.escaping import escape, escape_bytes
from pytest_agentgrade.submission.git_quoting import quote, unquote
from pytest_agentgrade.submission.paths import IntakeLimits, check_path

_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(?: .*)?\n")
_INDEX = re.compile(r"index [0-9a-f]{4,64}\.\.[0-9a-f]{4,64}(?: (\d{6}))?")
_MODES = {"100644": False, "100755": True}
_ODD_MODES = {"120000": "a symbolic link", "160000": "a submodule"}
_HEADERS = (
    "old mode ", "new mode ", "deleted file mode ", "new file mode ", "copy from ", "copy to ", "rename from ",
    "rename to ", "similarity index ", "dissimilarity index ", "index ",
)  # fmt: skip
_STARTS = (b"diff ", b"--- ", b"+++ ", b"@@ ", b"GIT binary patch", b"Binary files ", b"Only in ", b"Index: ")
_NO_NEWLINE = b"\\ "
_SIGNATURE = re.compile(rb"-- \n[0-9][^\n]{0,60}\n\n?")
"""The end of a mail by ``git format-patch``: git's version below a dashed line."""


@dataclass(frozen=True)
class Hunk:
    """Lines of the old file that make way for lines of the new one; both with their line ends."""

    number: int
    """Counted from 1 within its section, for messages."""
    start: int
    """Index (from 0) of the first old line."""
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]


@dataclass(frozen=True)
class Section:
    """What a patch does to one file."""

    old: str | None
    """Path before; None when the file is created."""
    new: str | None
    """Path after; None when the file is deleted."""
    copies: bool
    """Whether the old path stays although the new one differs."""
    executable: bool | None
    """The new mode; None keeps the old one."""
    hunks: tuple[Hunk, ...]

    @property
    def path(self) -> str:
        """The path for messages, escaped."""
        return escape(self.new or self.old or "")


@dataclass(frozen=True)
class ParsedPatch:
    """All sections, and sentences about what around them was passed over."""

    sections: tuple[Section, ...]
    notes: tuple[str, ...]


def parse_patch(patch: bytes, limits: IntakeLimits) -> ParsedPatch:
    """Parse a git-style or plain unified diff. Raises SubmissionRefused at the first line that fits nowhere.

    Text before the first section (a mail's head, comments) and the signature of ``git format-patch`` behind the last
    are passed over with a note; anything else outside of sections, and all binary patches, are refused. A patch with
    CRLF at every line is read as if it had LF.
    """
    if len(patch) > limits.patch_bytes:
        raise SubmissionRefused(f"the patch has {len(patch)} bytes, {limits.patch_bytes} are allowed")
    notes: list[str] = []
    if patch and not patch.endswith(b"\n"):
        raise SubmissionRefused("the patch does not end with a line break; is it cut off?")
    if patch and patch.count(b"\n") == patch.count(b"\r\n"):
        patch = patch.replace(b"\r\n", b"\n")
        notes.append("the patch has CRLF at every line and was read as if it had LF")
    reader = _Reader(patch.split(b"\n"))
    if reader.skip_preamble():
        notes.append("text before the first file of the patch was passed over")
    sections: list[Section] = []
    while not reader.at_end():
        if len(sections) >= limits.files:
            raise SubmissionRefused(f"the patch changes more than {limits.files} files")
        sections.append(_read_section(reader, limits))
    return ParsedPatch(tuple(sections), tuple(notes))


class _Reader:
    """The lines of a patch and a position."""

    def __init__(self, parts: list[bytes]) -> None:
        self._lines = [part + b"\n" for part in parts[:-1]]
        self.position = 0

    def peek(self) -> bytes:
        """The next line with its line end, ``b""`` at the end."""
        return self._lines[self.position] if self.position < len(self._lines) else b""

    def next(self) -> bytes:
        line = self.peek()
        self.position += 1
        return line

    def skip_preamble(self) -> bool:
        """Pass over what stands before the first section; whether there was any such text."""
        while self.peek() and not self.peek().startswith(_STARTS):
            self.position += 1
        if self.position and self.position == len(self._lines):
            raise SubmissionRefused("the patch holds text but no change of any file")
        return any(line.strip() for line in self._lines[: self.position])

    def at_end(self) -> bool:
        """Whether nothing but a mail's signature or an empty line is left."""
        if len(self._lines) - self.position > 3:
            return False
        rest = b"".join(self._lines[self.position :])
        return not rest.strip(b"\n") or _SIGNATURE.fullmatch(rest) is not None

    def refuse(self, why: str) -> SubmissionRefused:
        """An error that names the current line, counted from 1."""
        return SubmissionRefused(
            f"line {self.position + 1} of the patch {why}: {escape_bytes(self.peek()[:-1], 120)!r}"
        )


def _read_section(reader: _Reader, limits: IntakeLimits) -> Section:
    if reader.peek().startswith(b"diff --git "):
        return _read_git_section(reader, limits)
    if re.match(rb"diff -\S* ", reader.peek()):  # the command line that `diff -r` prints
        reader.next()
    if not reader.peek().startswith(b"--- "):
        raise reader.refuse("belongs to no change of a file")
    old, new = _read_names(reader)
    if old is None and new is None:
        raise reader.refuse("follows a change of nothing")
    # Without git's header, `a/` and `b/` are prefixes only where both sides have them.
    if (old is None or old.startswith("a/")) and (new is None or new.startswith("b/")):
        old, new = old and old[2:], new and new[2:]
    _check_names(old, new, limits)
    if old is not None and new is not None and old != new:
        raise reader.refuse(
            f"follows a change of {escape(old)!r} into {escape(new)!r}; write a/ and b/ before one name"
        )
    hunks = _read_hunks(reader)
    if not hunks:
        raise reader.refuse("should start a hunk")
    return Section(old, new, False, False if old is None else None, hunks)


def _read_git_section(reader: _Reader, limits: IntakeLimits) -> Section:
    head = _text(reader)[len("diff --git ") :]
    headers = _read_headers(reader)
    old, new = _names_from_headers(reader, head, headers)
    creates, deletes = "new file mode " in headers, "deleted file mode " in headers
    if reader.peek().startswith((b"GIT binary patch", b"Binary files ")):
        raise SubmissionRefused(f"'{escape(new)}': binary changes are not accepted")
    hunks: tuple[Hunk, ...] = ()
    if reader.peek().startswith(b"--- "):
        expected = (None if creates else f"a/{old}", None if deletes else f"b/{new}")
        before = reader.position
        if _read_names(reader) != expected:
            reader.position = before
            raise reader.refuse("and the next do not name the files of their section")
        hunks = _read_hunks(reader)
        if not hunks:
            raise reader.refuse("should start a hunk")
    elif headers.keys() <= {"index ", "similarity index ", "dissimilarity index "}:
        raise reader.refuse("follows a section that changes nothing")
    _check_names(old, new, limits)
    return Section(
        None if creates else old, None if deletes else new, "copy from " in headers, _new_mode(headers, new), hunks
    )


def _read_headers(reader: _Reader) -> dict[str, str]:
    """git's extended header lines by their first words. Raises SubmissionRefused when one comes twice."""
    headers: dict[str, str] = {}
    while True:
        key = next((key for key in _HEADERS if reader.peek().startswith(key.encode())), None)
        if key is None:
            return headers
        if key in headers:
            raise reader.refuse("comes twice in its section")
        if key == "index " and not _INDEX.fullmatch(reader.peek()[:-1].decode("ascii", "replace")):
            raise reader.refuse("is no index line")
        headers[key] = _text(reader)[len(key) :]


def _names_from_headers(reader: _Reader, head: str, headers: dict[str, str]) -> tuple[str, str]:
    """Old and new path of a git section, which the line ``diff --git`` must agree with."""
    for verb in ("rename", "copy"):
        if f"{verb} from " in headers or f"{verb} to " in headers:
            if not {f"{verb} from ", f"{verb} to "} <= headers.keys():
                raise reader.refuse(f"follows half a {verb}")
            old, new = unquote(headers[f"{verb} from "]), unquote(headers[f"{verb} to "])
            break
    else:
        old = new = _common_name(head)
    kinds = {"rename": "rename from ", "copy": "copy from ", "new": "new file mode ", "deleted": "deleted file mode "}
    if sum(key in headers for key in kinds.values()) > 1:
        raise reader.refuse("follows headers that contradict each other")
    sides = [(f"{prefix}/{name}", quote(f"{prefix}/{name}")) for prefix, name in (("a", old), ("b", new))]
    if head not in {f"{first} {second}" for first in sides[0] for second in sides[1]}:
        raise SubmissionRefused(
            f"'diff --git {escape(head, 300)}' is not understood", "give a diff with the prefixes a/ and b/"
        )
    return old, new


def _common_name(head: str) -> str:
    """The one path in ``a/PATH b/PATH``, either side perhaps quoted; anything odd comes back to be refused."""
    if head.startswith('"'):
        first, _, _ = head.partition('" "')
        return unquote(f'{first}"').removeprefix("a/")
    return head[2 : (len(head) - 1) // 2]


def _read_names(reader: _Reader) -> tuple[str | None, str | None]:
    """The paths of a ``---`` and a ``+++`` line with their prefixes; None for ``/dev/null``."""
    old = _text(reader)[4:]
    if not reader.peek().startswith(b"+++ "):
        raise reader.refuse("should start with '+++ '")
    names = [name.split("\t")[0] for name in (old, _text(reader)[4:])]  # a time stamp may follow
    first, second = (None if name == "/dev/null" else unquote(name) for name in names)
    return first, second


def _check_names(old: str | None, new: str | None, limits: IntakeLimits) -> None:
    for path in (old, new):
        if path is not None:
            check_path(path, limits)


def _new_mode(headers: dict[str, str], path: str) -> bool | None:
    """Whether the new file is executable; None when the patch does not say. Raises SubmissionRefused."""
    index = _INDEX.fullmatch(f"index {headers['index ']}") if "index " in headers else None
    given = [headers.get(key) for key in ("old mode ", "deleted file mode ")] + [index[1] if index else None]
    chosen = headers.get("new file mode ", headers.get("new mode "))
    for mode in (*given, chosen):
        if mode is not None and mode not in _MODES:
            what = _ODD_MODES.get(mode, f"of mode '{escape(mode, 20)}'")
            raise SubmissionRefused(f"'{escape(path)}' is {what}; only regular files are accepted")
    if ("old mode " in headers) != ("new mode " in headers):
        raise SubmissionRefused(f"'{escape(path)}': half a change of mode")
    return None if chosen is None else _MODES[chosen]


def _read_hunks(reader: _Reader) -> tuple[Hunk, ...]:
    hunks: list[Hunk] = []
    while reader.peek().startswith(b"@@ "):
        hunks.append(_read_hunk(reader, len(hunks) + 1))
    return tuple(hunks)


def _read_hunk(reader: _Reader, number: int) -> Hunk:
    match = _HUNK.fullmatch(reader.peek())
    if match is None:
        raise reader.refuse("is no hunk header")
    reader.next()
    old_start, old_count, new_count = int(match[1]), int(match[2] or 1), int(match[4] or 1)
    old: list[bytes] = []
    new: list[bytes] = []
    while len(old) < old_count or len(new) < new_count:
        line = reader.peek()
        if line == b"\n":  # an empty context line whose one space was stripped
            line = b" \n"
        sides = {b" ": (old, new), b"-": (old,), b"+": (new,)}.get(line[:1])
        if sides is None:
            raise reader.refuse(f"stands where hunk {number} is not complete")
        reader.next()
        content = line[1:]
        if reader.peek().startswith(_NO_NEWLINE):
            reader.next()
            content = content[:-1]
        for side in sides:
            side.append(content)
    if len(old) != old_count or len(new) != new_count:
        raise reader.refuse(f"follows hunk {number}, which has more lines than it says")
    # With no old lines, the number is that of the line before.
    return Hunk(number, old_start - 1 if old_count else old_start, tuple(old), tuple(new))


def _text(reader: _Reader) -> str:
    """The next line without its end as text. Raises SubmissionRefused when it is not UTF-8, or ends with CR."""
    line = reader.peek()[:-1]
    try:
        text = line.decode()
    except UnicodeDecodeError:
        raise reader.refuse("is not UTF-8") from None
    if text.endswith("\r"):
        raise reader.refuse("ends with CRLF, but not all lines do")
    reader.next()
    return text
