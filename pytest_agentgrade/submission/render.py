"""A submission's change as a patch text, for people to read."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from pytest_agentgrade.submission.tree import Tree, TreeFile

_MAX_LINES = 2_000
"""Beyond this a file's change is shown whole: difflib's worst case would let a submission stall the report."""


def render_patch(base: Tree, tree: Tree) -> str:
    """What turns ``base`` into ``tree``, in git's style and path order, the same for the same trees.

    Text files round-trip through :func:`~pytest_agentgrade.submission.patches.apply_patch`; of a file that is not
    UTF-8 only the fact of its change is told. Not escaped: whoever shows it escapes it.
    """
    return "".join(_render_file(path, base.get(path), tree.get(path)) for path in tree.changed_paths(base))


def _render_file(path: str, old: TreeFile | None, new: TreeFile | None) -> str:
    head = [f"diff --git a/{path} b/{path}\n"]
    if old is None and new is not None:
        head.append(f"new file mode 100{new.mode:o}\n")
    elif new is None and old is not None:
        head.append(f"deleted file mode 100{old.mode:o}\n")
    elif old is not None and new is not None and old.mode != new.mode:
        head += [f"old mode 100{old.mode:o}\n", f"new mode 100{new.mode:o}\n"]
    before, after = (file.data if file is not None else b"" for file in (old, new))
    if before == after:
        return "".join(head)
    # The tab marks the end of a path with spaces, as git does it.
    names = [f"{prefix}/{path}" if file is not None else "/dev/null" for prefix, file in (("a", old), ("b", new))]
    try:
        texts = [_lines(data) for data in (before, after)]
    except UnicodeDecodeError:
        return "".join([*head, f"Binary files {names[0]} and {names[1]} differ\n"])
    tabbed = [f"{name}\t" if " " in name else name for name in names]
    return "".join([*head, f"--- {tabbed[0]}\n", f"+++ {tabbed[1]}\n", *_hunks(texts[0], texts[1])])


def _lines(data: bytes) -> list[str]:
    """Lines with their ends; only a line feed ends one. Raises UnicodeDecodeError, for NUL bytes as well."""
    if b"\0" in data:
        raise UnicodeDecodeError("utf-8", data, data.index(b"\0"), data.index(b"\0") + 1, "NUL byte")
    lines = [f"{line}\n" for line in data.decode().split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    for group in _groups(old, new):
        first, last = group[0], group[-1]
        yield f"@@ -{_span(first[1], last[2])} +{_span(first[3], last[4])} @@\n"
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                yield from (_show(" ", line) for line in old[old_start:old_end])
                continue
            yield from (_show("-", line) for line in old[old_start:old_end])
            yield from (_show("+", line) for line in new[new_start:new_end])


def _groups(old: list[str], new: list[str]) -> list[list[tuple[str, int, int, int, int]]]:
    """difflib's opcodes with three lines of context; one "replace" of everything where that could take long."""
    if max(len(old), len(new)) > _MAX_LINES:
        return [[("replace", 0, len(old), 0, len(new))]]
    return [list(group) for group in difflib.SequenceMatcher(None, old, new).get_grouped_opcodes(3)]


def _span(start: int, end: int) -> str:
    """A range as unified diffs write it: for an empty one, the line before it."""
    length = end - start
    return f"{start + 1}" if length == 1 else f"{start + 1 if length else start},{length}"


def _show(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
