"""Which flags a llama-server knows: asked once from its ``--help``; what it does not know is refused by name."""

from __future__ import annotations

import difflib
import functools
import re
import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path

from pytest_agentgrade.assignment.secrets import without_secrets
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.escaping import escape

_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_FLAGS_OF_LINE = re.compile(r"^\s{0,2}(--?[A-Za-z][\w-]*(?:,\s+--?[A-Za-z][\w-]*)*)")

OURS = {
    "-m": "model",
    "--model": "model",
    "--host": None,
    "--port": None,
    "-c": "context",
    "--ctx-size": "context",
    "-a": None,
    "--alias": None,
}
"""Flags set by this package itself, with the setting that changes them."""

REPEATABILITY: tuple[tuple[str, ...], ...] = (
    ("-np", "1"),
    ("--no-cache-prompt",),
    ("--cache-ram", "0"),
    ("--cache-reuse", "0"),
    ("-sps", "0"),
    ("--ctx-checkpoints", "0"),
    ("--metrics",),
    ("--slots",),
    ("--jinja",),
    ("-fit", "off"),
    ("--no-webui",),
)
"""One slot, nothing kept from earlier requests, nothing fitted by guess, all counters on. Left out where unknown."""


def is_flag(word: str) -> bool:
    """Whether a word of a command line is a flag (``-1`` and ``-0.5`` are values)."""
    return word.startswith("-") and len(word) > 1 and not word[1:2].isdigit() and word[1:2] != "."


_LIKENESS = 0.75
"""A llama-server has hundreds of flags: with less, something is always like what was written."""


def refuse_unknown(args: Sequence[str], known: Collection[str], server: str, otherwise: str = "see its --help") -> None:
    """SettingsError for the first flag in ``args`` that the server does not know or that is not the user's to set.

    ``otherwise`` is what to do about one that is like no other.
    """
    for word in filter(is_flag, args):
        if word in OURS:
            setting = OURS[word]
            hint = f"use the setting {setting!r}" if setting else "leave it out"
            raise SettingsError(f"{word} is set by pytest-agentgrade itself and cannot stand in server_args", hint)
        if word not in known:
            (shown,) = without_secrets([escape(word, 100)])
            raise SettingsError(f"{server} does not know the flag {shown}", _suggestion(word, known, otherwise))


def repeatability_args(known: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The flags of :data:`REPEATABILITY` that the server knows, flattened, and those it does not, for the record."""
    kept = tuple(word for group in REPEATABILITY if group[0] in known for word in group)
    return kept, tuple(" ".join(group) for group in REPEATABILITY if group[0] not in known)


def flags_of_help(text: str) -> frozenset[str]:
    """All flags named at the beginning of a line of a llama-server's ``--help``."""
    matches = filter(None, map(_FLAGS_OF_LINE.match, text.splitlines()))
    return frozenset(flag for match in matches for flag in _FLAG.findall(match[1]))


def known_flags(binary: Path) -> frozenset[str]:
    """The flags of a binary, asked once for each state of the file; SettingsError when its help cannot be read."""
    state = binary.stat()
    return _known_flags(binary, state.st_size, state.st_mtime_ns)


def version_text(binary: Path) -> str:
    """What ``--version`` says, on one line, escaped; without log lines, whose times differ from call to call."""
    lines = _output(binary, "--version").splitlines()
    said = [line for line in lines if line.startswith(("version", "built with"))] or lines
    return escape(" ".join(" ".join(said).split()), 300)


@functools.lru_cache(maxsize=16)
def _known_flags(binary: Path, _size: int, _mtime_ns: int) -> frozenset[str]:
    found = flags_of_help(_output(binary, "--help"))
    if not {"--model", "--port"} <= found:
        raise SettingsError(f"{binary} --help does not look like that of llama-server", "give the path of llama-server")
    return found


def _output(binary: Path, flag: str) -> str:
    command = [str(binary), flag]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SettingsError(f"cannot run {' '.join(command)}: {error}", "give the path of llama-server") from error
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def _suggestion(word: str, known: Collection[str], otherwise: str) -> str:
    name = word.split("=", 1)[0]
    if name in known:
        return f"write it as two words: {name!r} and its value"
    near = difflib.get_close_matches(word, sorted(known), n=1, cutoff=_LIKENESS)
    return f"did you mean {near[0]}?" if near else otherwise
