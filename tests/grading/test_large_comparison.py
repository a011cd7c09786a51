"""What a candidate made long is not compared line by line; all else is left to pytest."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentgrade.grading.answers import Answer
from pytest_agentgrade.grading.large_comparison import MAX_CHARACTERS, MAX_PARTS, refuse_large
from tests.graded import QUIET_PLUGINS, run_pytest

LONG = [f"{n * 7919 % 100_003} of many" for n in range(MAX_PARTS + 1)]
LARGE = {
    "list": LONG,
    "answers": [Answer(text) for text in LONG],
    "nested": [(text, {text: {text}}) for text in LONG[:200]],
    "one_text": "x" * (MAX_CHARACTERS + 1),
    "lines": "\n" * MAX_PARTS,
    "bytes": b"\n" * MAX_PARTS,
}


@pytest.mark.parametrize("name", LARGE)
def test_it_is_said_in_one_line(name: str) -> None:
    for sides in ((LARGE[name], []), ([], LARGE[name])):
        with pytest.raises(AssertionError, match="too large to be compared") as caught:
            refuse_large("==", *sides)
        assert len(str(caught.value)) < 2_000 and str(caught.value).startswith("assert ")


def test_what_is_small_is_left_alone() -> None:
    refuse_large("==", LONG[: MAX_PARTS // 2], LONG[: MAX_PARTS // 2 - 1])
    refuse_large("in", "x" * 5_000, {"a": "x" * 5_000})
    refuse_large("==", Answer("x" * (MAX_CHARACTERS + 1)), object())


def test_assertions_that_grade_nothing_are_explained_as_ever(tmp_path: Path) -> None:
    (tmp_path / "test_lists.py").write_text("def test_lists():\n    assert list(range(600)) == list(range(1, 600))\n")
    done = run_pytest(tmp_path, "-vv", *QUIET_PLUGINS)
    assert "Full diff" in done.output and "too large" not in done.output
