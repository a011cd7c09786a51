"""Tool results as they may come out in another run."""

from __future__ import annotations

import random
import re
from collections.abc import Callable


def varied(seed: int) -> Callable[[str], str]:
    """A function that changes in a tool's result what may differ between two runs: times, counts, orders, places."""
    source = random.Random(seed)

    def change(result: str) -> str:
        result = re.sub(r"in \d+\.\d{3}s", lambda _: f"in {source.uniform(0, 3):.3f}s", result)
        result = re.sub(r"^Ran \d+ tests", lambda _: f"Ran {source.randint(2, 30)} tests", result, flags=re.MULTILINE)
        result = re.sub(r"^\.+$", lambda _: "." * source.randint(2, 30), result, flags=re.MULTILINE)
        result = re.sub(r"(?<=^wrote ).*", lambda found: _count_changed(found[0], source), result)
        return _listing_changed(result, source)

    return change


def _count_changed(text: str, source: random.Random) -> str:
    return re.sub(r"\d+ lines", lambda _: f"{source.randint(5, 300)} lines", text)


def _listing_changed(result: str, source: random.Random) -> str:
    lines = result.splitlines()
    if len(lines) < 2 or not all(re.fullmatch(r"[\w./]+\.\w+", line) for line in lines):
        return result
    source.shuffle(lines)
    prefix = source.choice(["", "", "./", "/work/", "work/"])
    more = source.sample(["notes.txt", "setup.cfg", "LICENSE.txt", "tests/helpers.py", "pyproject.toml"], 3)
    return "\n".join(prefix + line for line in lines + more[: source.randint(0, 3)])
