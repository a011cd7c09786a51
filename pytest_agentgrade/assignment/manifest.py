"""The manifest of a task's initial workspace: which files, which bytes, which modes.

A workspace is built from this list, never from what happens to lie in the folder: pip adds ``__pycache__`` to
installed packages, editors add their own files.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from pytest_agentgrade.errors import TaskAuthorError
from pytest_agentgrade.submission.tree import Tree, TreeFile

MANIFEST_SCHEMA = 1
_IGNORED_PARTS = frozenset({"__pycache__", ".git", ".pytest_cache", ".mypy_cache", ".ruff_cache"})


def load_tree(task_folder: Path) -> Tree:
    """The initial workspace of a task, each file checked against ``manifest.json``.

    Raises TaskAuthorError when a file is missing or its bytes differ.
    """
    source = task_folder / "manifest.json"
    remedy = f"run `python -m pytest_agentgrade.assignment.manifest {task_folder}`"
    try:
        manifest = json.loads(source.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TaskAuthorError(f"cannot read {source}: {error}", remedy) from error
    if not isinstance(manifest, dict) or manifest.get("schema") != MANIFEST_SCHEMA:
        raise TaskAuthorError(f"{source} is not a manifest of schema {MANIFEST_SCHEMA}", remedy)
    files: dict[str, TreeFile] = {}
    for path, entry in manifest["files"].items():
        try:
            data = (task_folder / "workspace" / path).read_bytes()
        except OSError as error:
            raise TaskAuthorError(f"{source} names {path!r}, which cannot be read: {error}", remedy) from error
        if hashlib.sha256(data).hexdigest() != entry["sha256"]:
            raise TaskAuthorError(f"{path!r} differs from {source}", remedy)
        files[path] = TreeFile(data, executable=entry["executable"])
    return Tree(files)


def write_manifest(task_folder: Path) -> Path:
    """List what lies in ``workspace/`` now (caches left out) in ``manifest.json``; returns its path."""
    workspace = task_folder / "workspace"
    files = {
        path.relative_to(workspace).as_posix(): {
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "executable": bool(path.stat().st_mode & 0o100),
        }
        for path in sorted(workspace.rglob("*"))
        if path.is_file() and not _IGNORED_PARTS & set(path.relative_to(workspace).parts)
    }
    target = task_folder / "manifest.json"
    target.write_text(json.dumps({"schema": MANIFEST_SCHEMA, "files": files}, indent=2) + "\n", encoding="utf-8")
    return target


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        print(write_manifest(Path(folder)))
