from __future__ import annotations

import shutil
from pathlib import Path

from pytest_agentgrade.demo import DEMO_NOTE, demo_model_path, is_demo


def test_the_model_is_small_and_recognised_by_its_content(tmp_path: Path) -> None:
    assert demo_model_path().stat().st_size <= 5_000_000
    copy = tmp_path / "renamed.bin"
    shutil.copyfile(demo_model_path(), copy)
    assert is_demo(demo_model_path()) and is_demo(copy)
    data = bytearray(copy.read_bytes())
    data[-1] ^= 1
    copy.write_bytes(data)
    assert not is_demo(copy)


def test_what_cannot_be_read_is_not_the_demo_model(tmp_path: Path) -> None:
    assert not is_demo(tmp_path / "missing.gguf")
    assert not is_demo(tmp_path)


def test_the_note_is_one_line_that_says_what_the_model_is() -> None:
    assert "\n" not in DEMO_NOTE
    assert "fixture" in DEMO_NOTE and "no other agent" in DEMO_NOTE
