"""A patch as a submission: applied in memory, all of it or not at all, by nobody's git."""

from __future__ import annotations

from pytest_agentgrade.errors import SubmissionRefused
from pytest_agentgrade.escaping import escape
from pytest_agentgrade.submission.patch_parser import Hunk, Section, parse_patch
from pytest_agentgrade.submission.paths import IntakeLimits, make_submission
from pytest_agentgrade.submission.tree import Origin, Submission, Tree, TreeFile


def apply_patch(base: Tree, patch: bytes, limits: IntakeLimits | None = None) -> Submission:
    """The submission that ``patch`` makes of ``base``: a git-style or plain unified diff, relative to the workspace.

    Hunks must match exactly at the line they name: no fuzz, no search. Raises SubmissionRefused naming the (escaped)
    path and hunk, and then nothing of the patch is used.
    """
    limits = limits or IntakeLimits()
    parsed = parse_patch(patch, limits)
    removed = _removed_paths(base, parsed.sections)
    kept = {path: file for path, file in base.items() if path not in removed}
    written: dict[str, TreeFile] = {}
    total = 0
    for section in parsed.sections:
        data = _apply_hunks(_old_file(base, section).data, section, limits)
        total += len(data)
        if total > limits.bytes:
            raise SubmissionRefused(f"the files of the patch have more than {limits.bytes} bytes")
        if section.new is None:
            if data:
                raise SubmissionRefused(f"the patch deletes '{section.path}' but leaves some of its content")
            continue
        _check_target(section, section.new, kept, written, removed)
        executable = _old_file(base, section).executable if section.executable is None else section.executable
        written[section.new] = TreeFile(data, executable)
    return make_submission({**kept, **written}, Origin.PATCH, limits, parsed.notes)


def _removed_paths(base: Tree, sections: tuple[Section, ...]) -> set[str]:
    """Paths that are deleted or renamed away."""
    removed: set[str] = set()
    for section in sections:
        _old_file(base, section)
        if section.old is not None and section.old != section.new and not section.copies:
            if section.old in removed:
                raise SubmissionRefused(f"'{escape(section.old)}' is renamed or deleted twice")
            removed.add(section.old)
    return removed


def _old_file(base: Tree, section: Section) -> TreeFile:
    file = TreeFile(b"") if section.old is None else base.get(section.old)
    if file is None:
        raise SubmissionRefused(f"the patch changes '{escape(section.old or '')}', which is not there")
    return file


def _check_target(
    section: Section, new: str, kept: dict[str, TreeFile], written: dict[str, TreeFile], removed: set[str]
) -> None:
    if new in written or (new == section.old and new in removed):
        raise SubmissionRefused(f"'{section.path}' is changed in two places of the patch")
    if new != section.old and new in kept:
        raise SubmissionRefused(f"the patch creates '{section.path}', which is there already")


def _apply_hunks(data: bytes, section: Section, limits: IntakeLimits) -> bytes:
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    if last:
        lines.append(last)
    result: list[bytes] = []
    position = 0
    for hunk in section.hunks:
        if (
            not position <= hunk.start <= len(lines)
            or tuple(lines[hunk.start : hunk.start + len(hunk.old)]) != hunk.old
        ):
            raise _mismatch(section, hunk)
        result += lines[position : hunk.start]
        result += hunk.new
        position = hunk.start + len(hunk.old)
    result += lines[position:]
    if any(not line.endswith(b"\n") for line in result[:-1]):
        raise SubmissionRefused(f"'{section.path}': text follows a line that is said to have no line break")
    size = sum(map(len, result))
    if size > limits.file_bytes:
        raise SubmissionRefused(f"'{section.path}' would have {size} bytes, {limits.file_bytes} are allowed")
    return b"".join(result)


def _mismatch(section: Section, hunk: Hunk) -> SubmissionRefused:
    return SubmissionRefused(
        f"hunk {hunk.number} of '{section.path}' does not match the workspace at line {hunk.start + 1}",
        "hunks must fit exactly where they say; make the patch with git diff against the untouched workspace",
    )
