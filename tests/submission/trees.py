"""Small trees for the tests here."""

from __future__ import annotations

from hypothesis import strategies as st

from pytest_agentgrade.submission.tree import Tree, TreeFile

BASE = Tree(
    {
        "README.md": TreeFile(b"# Title\n\nText.\n"),
        "pkg/__init__.py": TreeFile(b""),
        "pkg/a.py": TreeFile(b"".join(b"line %d\n" % number for number in range(1, 21))),
        "pkg/end.py": TreeFile(b"first\nlast"),
        "run.sh": TreeFile(b"#!/bin/sh\necho hi\n", executable=True),
    }
)


def tree(**changes: bytes | None) -> Tree:
    """BASE with files replaced; ``__`` in a keyword stands for ``/`` and a trailing ``_py`` for ``.py``."""
    names = {key: key.replace("__", "/").replace("_py", ".py") for key in changes}
    return BASE.with_files({names[key]: None if data is None else TreeFile(data) for key, data in changes.items()})


_LINES = st.lists(st.sampled_from(["a", "b", "", "c\r", "é\x0c", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "\\ No", "-"]))
_TEXTS = st.builds(lambda lines, end: ("\n".join(lines) + end).encode(), _LINES, st.sampled_from(["", "\n", "\n\n"]))
_PATHS = st.sampled_from(["a.py", "b c.py", "pkg/é.py", "pkg/deep/x.txt", "日本", "b/a/b"])
TREES = st.dictionaries(_PATHS, st.builds(TreeFile, _TEXTS, st.booleans()), max_size=5).map(Tree)
"""Trees of text files with awkward lines and names."""
