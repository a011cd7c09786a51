"""A task: one folder of ``task_fixtures/``."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_agentgrade.assignment.manifest import load_tree
from pytest_agentgrade.errors import TaskAuthorError
from pytest_agentgrade.submission.tree import Tree

TASK_SCHEMA = 1
MAX_PROMPT_CHARACTERS = 6_000
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_KEYS = frozenset({"schema", "title", "package", "editable", "protected", "tests", "test_command"})


@dataclass(frozen=True)
class Task:
    """What the agent is asked, and which paths its answer may touch."""

    name: str
    """Folder name, ``[a-z][a-z0-9_]*``; part of node ids and records."""
    title: str
    package: str
    """The package whose behaviour is judged."""
    prompt: str
    """The text the agent gets, as it stands in ``prompt.md``."""
    editable: tuple[str, ...]
    """fnmatch patterns on POSIX paths (``*`` crosses directories) that a submission may change."""
    protected: tuple[str, ...]
    """Patterns that win over ``editable``: the fixture's own bytes are always judged."""
    tests: tuple[str, ...]
    """Patterns of the public tests: an edit there is no production edit and is not judged."""
    test_command: tuple[str, ...]
    """Runs the public tests inside the workspace."""
    base: Tree = field(repr=False)
    """The initial workspace."""
    folder: Path
    """``task_fixtures/<name>``."""
    checks_folder: Path
    """``hidden_checks/<name>``: never shown to anything that serves the agent."""

    def is_editable(self, path: str) -> bool:
        """Whether a submission's file at ``path`` is used when judging."""
        return _matches(path, self.editable) and not (_matches(path, self.protected) or _matches(path, self.tests))

    def is_protected(self, path: str) -> bool:
        """Whether ``path`` always keeps the fixture's bytes."""
        return _matches(path, self.protected)

    def is_test(self, path: str) -> bool:
        """Whether ``path`` is one of the public tests."""
        return _matches(path, self.tests)

    @property
    def check_file(self) -> Path:
        """The module with the ten hidden checks."""
        return self.checks_folder / f"test_{self.name}.py"

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of all the agent can see and all that decides what is judged (not of the checks)."""
        seen = {
            "schema": TASK_SCHEMA, "name": self.name, "package": self.package, "prompt": self.prompt,
            "editable": self.editable, "protected": self.protected, "tests": self.tests,
            "test_command": self.test_command, "base": self.base.digest,
        }  # fmt: skip
        return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of :attr:`digest` and of the module with the checks."""
        try:
            checks = self.check_file.read_bytes()
        except OSError as error:
            raise TaskAuthorError(f"cannot read {self.check_file}: {error}") from error
        return hashlib.sha256(self.digest.encode() + checks).hexdigest()


def load_task(folder: Path, checks_folder: Path) -> Task:
    """Read ``folder`` (``task.toml``, ``prompt.md``, ``manifest.json``, ``workspace/``) into a :class:`Task`.

    Raises TaskAuthorError naming the file and the key that is wrong.
    """
    source = folder / "task.toml"
    settings = _read_toml(source)
    _refuse_unknown_keys(settings, source)
    prompt = _read_prompt(folder / "prompt.md")
    if not _NAME.fullmatch(folder.name):
        raise TaskAuthorError(f"task folder {folder.name!r} is not named [a-z][a-z0-9_]*", "rename the folder")
    task = Task(
        name=folder.name,
        title=_text(settings, "title", source),
        package=_text(settings, "package", source),
        prompt=prompt,
        editable=_texts(settings, "editable", source),
        protected=_texts(settings, "protected", source),
        tests=_texts(settings, "tests", source),
        test_command=_texts(settings, "test_command", source),
        base=load_tree(folder),
        folder=folder,
        checks_folder=checks_folder,
    )
    if not any(path.startswith(f"{task.package}/") for path in task.base):
        raise TaskAuthorError(f"{source}: the workspace has no package {task.package!r}", "correct `package`")
    return task


def _read_toml(source: Path) -> dict[str, Any]:
    try:
        settings = tomllib.loads(source.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TaskAuthorError(f"cannot read {source}: {error}") from error
    if settings.get("schema") != TASK_SCHEMA:
        raise TaskAuthorError(f"{source}: schema is {settings.get('schema')!r}", f"write `schema = {TASK_SCHEMA}`")
    return settings


def _read_prompt(source: Path) -> str:
    try:
        prompt = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskAuthorError(f"cannot read {source}: {error}") from error
    if not prompt.strip() or len(prompt) > MAX_PROMPT_CHARACTERS:
        raise TaskAuthorError(f"{source} has {len(prompt)} characters", f"write 1 to {MAX_PROMPT_CHARACTERS}")
    return prompt


def _refuse_unknown_keys(settings: Mapping[str, Any], source: Path) -> None:
    for key in settings:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(sorted(_KEYS))}"
            raise TaskAuthorError(f"{source}: unknown key {key!r}", hint)


def _text(settings: Mapping[str, Any], key: str, source: Path) -> str:
    value = settings.get(key)
    if not isinstance(value, str) or not value.strip():
        raise TaskAuthorError(f"{source}: {key} = {value!r}", "write a non-empty string")
    return value


def _texts(settings: Mapping[str, Any], key: str, source: Path) -> tuple[str, ...]:
    value = settings.get(key)
    if not isinstance(value, list) or not value or not all(isinstance(item, str) and item for item in value):
        raise TaskAuthorError(f"{source}: {key} = {value!r}", "write a list of non-empty strings")
    return tuple(value)


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)
