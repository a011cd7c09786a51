"""What tox hands on: arguments behind ``--`` are pytest's."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

TOX = ConfigParser(interpolation=None)
TOX.read(Path(__file__).parents[1] / "tox.ini", encoding="utf-8")


def test_one_call_may_run_the_modes_with_arguments_and_compare_them() -> None:
    assert "{posargs}" in TOX["testenv:{baseline,mtp}"]["commands"]
    compare = TOX["testenv:compare"]["commands"]
    assert "agentgrade compare" in compare and "posargs" not in compare
    assert "{env:AGENTGRADE_COMPARE:}" in compare
