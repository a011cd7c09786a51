"""tools/measure_loops.py in small: the promises of docs/loops.md, on what every machine of this project has."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


corpora, made, measure = load("loop_corpora"), load("loop_specimens"), load("measure_loops")


@pytest.fixture(scope="module")
def texts() -> list[object]:
    found = list(corpora.ordinary_texts(0.08))
    assert len(found) > 60, "the standard library and numpy are everywhere"
    return found


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_ordinary_texts_are_no_loops(texts: list[object]) -> None:
    """Of some 120 texts 1 % is one, give or take two; a rule that is wrong hits every tenth."""
    alarms = measure.false_alarms(texts)
    assert len(alarms) <= 3, "\n".join(measure.alarm_lines(alarms))


def test_loops_are_found_within_512_tokens(texts: list[object]) -> None:
    loops = list(made.specimens(measure.sources_of(texts), 2))
    found = [measure.found_in_time(one) for one in loops]
    assert sum(loop is not None for loop in found) >= 0.95 * len(loops)
    starts = [abs(loop.start - one.start) for one, loop in zip(loops, found, strict=True) if loop is not None]
    assert sorted(starts)[len(starts) // 2] <= 2


def test_a_beginning_that_does_not_loop_yet_is_none(texts: list[object]) -> None:
    """What finds loops is their repetition: the first copy alone, of 200 tokens, is ordinary text."""
    loops = [one for one in made.specimens(measure.sources_of(texts), 2) if one.period == 200]
    first_copies = [one.tokens[: one.start + 200] for one in loops]
    assert sum(measure.find_loop_in(tokens) is not None for tokens in first_copies) <= 1
