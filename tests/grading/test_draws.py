"""Draws tell right from wrong, or are drawn again."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentgrade.errors import TaskAuthorError
from pytest_agentgrade.grading.author import main
from pytest_agentgrade.grading.draws import choose_draw, derive_seed, try_solution
from pytest_agentgrade.grading.suite import Check, load_checks
from pytest_agentgrade.grading.verdict import Outcome

from .authored import CHECK, checks, write_task

KEY = b"k" * 32


def test_seed_depends_on_everything_and_on_the_key() -> None:
    seeds = {
        derive_seed(KEY, "digest", "test_a", 0),
        derive_seed(KEY, "digest", "test_a", 1),
        derive_seed(KEY, "digest", "test_b", 0),
        derive_seed(KEY, "other", "test_a", 0),
        derive_seed(b"x" * 32, "digest", "test_a", 0),
    }
    assert len(seeds) == 5
    assert derive_seed(KEY, "digest", "test_a", 0) in seeds
    assert max(seeds) < 2**128


def named(checks: tuple[Check, ...], name: str) -> Check:
    return next(check for check in checks if check.name == name)


def test_draw_that_does_not_tell_is_drawn_again(tmp_path: Path) -> None:
    task = write_task(tmp_path, checks(top=3))  # 0 and 1 do not tell `small` from the reference
    check = named(load_checks(task), "test_a")
    chosen = [choose_draw(check, task, bytes([number]) * 32) for number in range(6)]
    assert any(draw.n > 0 for draw in chosen)
    for draw in chosen:
        assert draw.seed == derive_seed(bytes([chosen.index(draw)]) * 32, task.digest, "test_a", draw.n)
        assert try_solution(check, task, "small", draw.n, draw.seed).outcome is Outcome.FAILED
        assert try_solution(check, task, "reference", draw.n, draw.seed).outcome is Outcome.PASSED


def test_check_that_never_tells_is_the_authors_error(tmp_path: Path) -> None:
    task = write_task(tmp_path, checks(top=1))
    with pytest.raises(TaskAuthorError, match="test_a misjudges small in 3 of 3 draws"):
        choose_draw(named(load_checks(task), "test_a"), task, KEY, limit=3)


def test_check_that_breaks_is_the_authors_error(tmp_path: Path) -> None:
    broken = CHECK.replace(" == number + number", "")
    module = checks("bcdefghij") + broken.format(name="a", top=5, more=', "small"')
    task = write_task(tmp_path, module)
    with pytest.raises(TaskAuthorError, match=r"test_a breaks on reference: .* its truth"):
        choose_draw(named(load_checks(task), "test_a"), task, KEY)


def test_author_sees_which_rules_are_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_task(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["toy", "--draws", "1", "--wrong-draws", "1"]) == 1
    shown = capsys.readouterr()
    assert "reference" in shown.out
    assert "no wrong solution fails test_b alone" in shown.out
    assert "untouched passes 0 checks, must pass exactly one" in shown.out
    assert "test_a alone" not in shown.out
    assert "only 1 wrong solutions" in shown.out
    assert main(["toyy"]) == 1
    assert "did you mean" in capsys.readouterr().err


def test_author_can_try_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    task = write_task(tmp_path)
    monkeypatch.chdir(tmp_path)
    good = str(task.checks_folder / "reference")
    assert main(["toy", "--tree", good, "--check", "test_a"]) == 0
    assert capsys.readouterr().out.startswith("passed  test_a")
    assert main(["toy", "--tree", str(task.folder / "workspace"), "--check", "test_a"]) == 1
    assert capsys.readouterr().out.startswith("failed  test_a")
