from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

from hypothesis import given, settings

from pytest_agentgrade.submission.patches import apply_patch
from pytest_agentgrade.submission.render import render_patch
from pytest_agentgrade.submission.tree import Tree, TreeFile
from tests.submission.trees import BASE, TREES, tree


@given(TREES, TREES)
@settings(max_examples=150, deadline=None)
def test_round_trip_through_apply(old: Tree, new: Tree) -> None:
    assert apply_patch(old, render_patch(old, new).encode()).tree == new


def test_same_trees_give_nothing() -> None:
    assert render_patch(BASE, BASE) == ""
    assert apply_patch(BASE, b"").tree == BASE


def test_looks_as_git_writes_it() -> None:
    assert render_patch(BASE, tree(pkg__end_py=b"first\nlast\n")) == (
        "diff --git a/pkg/end.py b/pkg/end.py\n--- a/pkg/end.py\n+++ b/pkg/end.py\n@@ -1,2 +1,2 @@\n"
        " first\n-last\n\\ No newline at end of file\n+last\n"
    )


def test_binary_file_is_only_named() -> None:
    text = render_patch(BASE, tree(data=b"\x00\xff"))
    assert text.endswith("Binary files /dev/null and b/data differ\n")


@given(TREES, TREES)
@settings(max_examples=15, deadline=None)
def test_real_git_reads_it_the_same_way(old: Tree, new: Tree) -> None:
    import tempfile

    patch = render_patch(old, new)
    if not patch:
        return
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, file in old.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(file.data)
            (root / path).chmod(file.mode)
        subprocess.run(["git", "apply", "-"], cwd=root, input=patch.encode(), check=True, capture_output=True)
        found = {
            path.relative_to(root).as_posix(): TreeFile(path.read_bytes(), bool(path.stat().st_mode & 0o100))
            for path in root.rglob("*")
            if path.is_file()
        }
        assert Tree(found) == new


def test_a_file_made_to_stall_difflib_is_rendered_soon() -> None:
    draw = random.Random(1)
    lines = [b"%d\n" % draw.randrange(50) for _ in range(200_000)]
    before = time.monotonic()
    old, new = Tree({"a.py": TreeFile(b"".join(lines))}), Tree({"a.py": TreeFile(b"".join(sorted(lines)))})
    assert apply_patch(old, render_patch(old, new).encode()).tree == new
    for size in (2_000, 1_990):
        few = lines[:size]
        old, new = Tree({"a.py": TreeFile(b"".join(few))}), Tree({"a.py": TreeFile(b"".join(reversed(few)))})
        assert apply_patch(old, render_patch(old, new).encode()).tree == new
    assert time.monotonic() - before < 30
