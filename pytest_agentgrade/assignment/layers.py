"""Where settings are written: values from a file, from the command line or from a preset, with their places."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_agentgrade.assignment.toml_lines import line_of
from pytest_agentgrade.errors import SettingsError

SETTINGS_FILE = "agentgrade.toml"
DEMO_MODEL = "demo"
"""The value of ``model`` that stands for the embedded demo model."""


class Layer(dict[str, Any]):
    """Values from one place; ``source`` says which (a file name, an option's name comes per key).

    ``text`` is what they were read from, below the table ``inside`` of a TOML file.
    """

    def __init__(
        self,
        source: str,
        values: Mapping[str, Any],
        per_key: Mapping[str, str] | None = None,
        *,
        text: str = "",
        inside: tuple[str, ...] = (),
    ) -> None:
        super().__init__(values)
        self.source = source
        self.per_key = per_key or {}
        self._text, self._inside = text, inside

    def place(self, path: Sequence[str]) -> str:
        """Where a value was written, for a message: ``agentgrade.toml, line 3``, or the option."""
        line = line_of(self._text, (*self._inside, *path))
        return self.per_key.get(path[0], self.source) if line is None else f"{self.source}, line {line}"


def read_file_layer(folder: Path) -> Layer:
    """``agentgrade.toml`` of ``folder``, else ``[tool.agentgrade]`` of its pyproject.toml, else nothing.

    A relative ``model`` or ``server`` in the file is meant from ``folder``, wherever pytest is started.
    """
    own = folder / SETTINGS_FILE
    if own.is_file():
        text = _read(own)
        return Layer(SETTINGS_FILE, _anchored(_parsed(text, own), folder), text=text)
    project = folder / "pyproject.toml"
    if project.is_file():
        text = _read(project)
        table = _parsed(text, project).get("tool", {}).get("agentgrade", {})
        if not isinstance(table, dict):
            raise SettingsError(f"{project}: tool.agentgrade is {table!r}", "make it a table: [tool.agentgrade]")
        return Layer("pyproject.toml", _anchored(table, folder), text=text, inside=("tool", "agentgrade"))
    return Layer(SETTINGS_FILE, {})


def _anchored(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The table, of a mode as well, with its relative paths made absolute; values of a wrong type stay as they are."""
    found = dict(table)
    model, server, modes = found.get("model"), found.get("server"), found.get("modes")
    if isinstance(model, str) and model != DEMO_MODEL:
        found["model"] = _from(folder, model)
    if isinstance(server, str) and "/" in server and "://" not in server:
        found["server"] = _from(folder, server)
    if isinstance(modes, dict):
        found["modes"] = {name: _anchored(one, folder) if isinstance(one, dict) else one for name, one in modes.items()}
    return found


def _from(folder: Path, path: str) -> str:
    return path if path.startswith("~") else str(folder / path)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read {path}: {error}", "correct the file") from error


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"cannot read {path}: {error}", "correct the file") from error
