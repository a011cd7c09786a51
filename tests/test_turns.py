"""Attempts of one run in several processes: one after the other, however long one takes."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pytest_agentgrade import turns as module
from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.errors import HostError
from pytest_agentgrade.turns import Turns
from tests.records_made_here import a_key

ORDER = [a_key(seed=seed) for seed in (1, 2, 3)]
SETTINGS = Settings.model_validate({"task_seconds": 1, "server_seconds": 1})


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MARGIN_SECONDS", -2.7)


def test_alone_it_is_always_ones_turn(tmp_path: Path) -> None:
    with Turns(tmp_path, None, ORDER).turn(ORDER[2], SETTINGS):
        assert list(tmp_path.iterdir()) == []


def test_one_that_lives_is_waited_for(tmp_path: Path) -> None:
    """It may wait itself, for another run of this host, for longer than an attempt takes."""
    seen: list[str] = []

    def second() -> None:
        with Turns(tmp_path, "run", ORDER).turn(ORDER[1], SETTINGS):
            seen.append("second")

    with Turns(tmp_path, "run", ORDER).turn(ORDER[0], SETTINGS):
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(1.5)
        seen.append("first")
    thread.join(20)
    assert seen == ["first", "second"]
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["0", "1"]


def test_one_that_died_or_never_came_is_not_waited_for(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from tests.test_turns import *\n"
        "with Turns(Path(sys.argv[1]), 'run', ORDER).turn(ORDER[0], SETTINGS): os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=Path(__file__).parents[1], check=True)
    turns = Turns(tmp_path, "run", ORDER)
    with pytest.raises(HostError, match=r"attempt t\[mtp-1\] never ended"), turns.turn(ORDER[1], SETTINGS):
        raise AssertionError("it is not its turn")
    with turns.turn(ORDER[0], SETTINGS):
        pass
    with turns.turn(ORDER[1], SETTINGS):
        pass
    with pytest.raises(HostError, match="never ended"), Turns(tmp_path, "other", ORDER).turn(ORDER[2], SETTINGS):
        raise AssertionError("nor this one's")
