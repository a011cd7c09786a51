"""Which edits a completion's text carries."""

from __future__ import annotations

import pytest

from pytest_agentgrade.attempt.agents.completion_edits import (
    Replacement,
    UnifiedDiff,
    Unusable,
    WholeFile,
    find_edits,
)

WHOLE = WholeFile("pkg/a.py", "x = 1\n")


@pytest.mark.parametrize(
    "text",
    [
        "Here it is.\n\npkg/a.py\n```python\nx = 1\n```\nDone.",
        "```python pkg/a.py\nx = 1\n```",
        "```python:pkg/a.py\nx = 1\n```",
        '```python path="pkg/a.py"\nx = 1\n```',
        "```pkg/a.py\nx = 1\n```",
        "**`pkg/a.py`**:\n\n~~~\nx = 1\n~~~",
        "### pkg/a.py\n````python\nx = 1\n````",
        "File: `pkg/a.py`\n```python\r\nx = 1\r\n```\r\n",
    ],
)
def test_a_whole_file(text: str) -> None:
    assert find_edits(text) == (WHOLE,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Just talk.",
        "```python\nx = 1\n```",
        "Run this:\n```sh\npython3 -m unittest\n```",
        "see pkg/a.py here\n```\nx\n```",
    ],
)
def test_a_block_without_a_path_is_no_edit(text: str) -> None:
    assert find_edits(text) == ()


def test_a_longer_fence_holds_shorter_ones() -> None:
    (edit,) = find_edits("README.md\n````\nUse\n```\nx\n```\n````")
    assert edit == WholeFile("README.md", "Use\n```\nx\n```\n")


BLOCK = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE"


@pytest.mark.parametrize(
    "text",
    [
        f"pkg/a.py\n{BLOCK}",
        f"pkg/a.py\n```python\n{BLOCK}\n```",
        f"```python\npkg/a.py\n{BLOCK}\n```",
        f"```pkg/a.py\n{BLOCK}\n```",
    ],
)
def test_a_replacement(text: str) -> None:
    assert find_edits(text) == (Replacement("pkg/a.py", "old\n", "new\n"),)


def test_several_replacements_share_a_path_until_another_is_named() -> None:
    edits = find_edits(f"a.py\n{BLOCK}\n{BLOCK}\nb.py\n{BLOCK}")
    assert [edit.path for edit in edits if isinstance(edit, Replacement)] == ["a.py", "a.py", "b.py"]


DIFF = "--- a/pkg/a.py\n+++ b/pkg/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


@pytest.mark.parametrize("text", [f"```diff\n{DIFF}```", f"```\n{DIFF}```", f"Here:\n\n{DIFF}"])
def test_a_diff(text: str) -> None:
    assert find_edits(text) == (UnifiedDiff(DIFF),)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("pkg/a.py\n```python\nx = ", "no end"),
        (BLOCK, "names no file"),
        ("a.py\n<<<<<<< SEARCH\nold\n=======\nnew", "no end"),
        ("a.py\n<<<<<<< SEARCH\nold\n>>>>>>> REPLACE\n", "no end"),
    ],
)
def test_what_cannot_be_an_edit_is_told(text: str, reason: str) -> None:
    (edit,) = find_edits(text)
    assert isinstance(edit, Unusable) and reason in edit.reason
