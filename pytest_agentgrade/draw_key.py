"""The key of a run's draws: fresh, or shared with other runs so that their attempts can be paired."""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from pathlib import Path

from pytest_agentgrade.errors import HostError, SettingsError

_HEX = re.compile(r"[0-9a-f]{64}")


def choose_draw_key(file: Path | None) -> str:
    """32 bytes as hex: random, or those in ``file``, which is made (readable by its owner only) when missing.

    Processes that make the same file at once agree on one key. SettingsError when it holds anything else.
    """
    if file is None:
        return secrets.token_hex(32)
    try:
        if not file.exists():
            _make(file)
        key = file.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise HostError(f"cannot read or make the key file {file}: {error}", "choose another --agent-draws") from error
    if not _HEX.fullmatch(key):
        raise SettingsError(f"{file} holds no key of draws (64 hex digits)", "name another file with --agent-draws")
    return key


def _make(file: Path) -> None:
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as stream:
            stream.write(secrets.token_hex(32) + "\n")
        # A link, unlike a rename, never replaces the key of a process that was quicker.
        os.link(temporary, file)
    except FileExistsError:
        return
    finally:
        Path(temporary).unlink()
