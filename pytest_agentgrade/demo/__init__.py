"""The embedded demo model: a fixture that shows the whole pipeline without a GPU or a download."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

DEMO_NOTE = (
    "The demo model is a fixture that knows four conversations of the built-in agent toolloop by heart, and can follow "
    "no other agent: its scores say nothing about coding ability, nor about what drafting does to quality or speed "
    "(on so small a model it only costs time)."
)
"""To be shown wherever results of the demo model are."""


def demo_model_path() -> Path:
    """The GGUF file that comes with the package."""
    return Path(__file__).with_name("demo.gguf")


def is_demo(path: Path) -> bool:
    """Whether a file is the demo model, whatever its name; False for what is no readable file."""
    demo = demo_model_path()
    try:
        return path.stat().st_size == demo.stat().st_size and _sha256(path) == _demo_sha256()
    except OSError:
        return False


@functools.cache
def _demo_sha256() -> str:
    return _sha256(demo_model_path())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
