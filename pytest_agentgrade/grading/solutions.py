"""The task author's own solutions: the right one, and wrong ones that each check must tell from it."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.errors import HostError, TaskAuthorError
from pytest_agentgrade.sandbox.temporary import temporary_folder
from pytest_agentgrade.submission.tree import Tree, TreeFile

UNTOUCHED = "untouched"
"""The initial workspace, as a solution."""
REFERENCE = "reference"
_KILLS = re.compile(r"# kills:(?: (test_\w+(?:, test_\w+)*))? ?")
_WHY = re.compile(r"# why: (.+)")


@dataclass(frozen=True)
class WrongSolution:
    """One file of ``wrong/``."""

    name: str
    kills: tuple[str, ...]
    """Exactly the checks it fails among those that count; none when only a ``@beyond`` check sees it."""
    why: str
    tree: Tree


def reference_tree(task: Task) -> Tree:
    """The workspace with the files of ``reference/`` laid over it."""
    folder = task.checks_folder / "reference"
    overlay = {
        path.relative_to(folder).as_posix(): TreeFile(path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    if not overlay:
        raise TaskAuthorError(f"{folder} holds no file", "put the right solution's files there")
    return task.base.with_files(overlay)


def wrong_names(task: Task) -> tuple[str, ...]:
    """Names of all wrong solutions, sorted."""
    return tuple(sorted(path.stem for path in (task.checks_folder / "wrong").glob("*.diff")))


def wrong_solution(task: Task, name: str) -> WrongSolution:
    """Read and apply ``wrong/<name>.diff``. Raises TaskAuthorError when head or diff is wrong."""
    source = task.checks_folder / "wrong" / f"{name}.diff"
    try:
        data = source.read_bytes()
    except OSError as error:
        raise TaskAuthorError(f"cannot read {source}: {error}") from error
    lines = data.decode("utf-8").splitlines()
    kills, why = (pattern.fullmatch(line) for pattern, line in zip((_KILLS, _WHY), lines, strict=False))
    if not kills or not why:
        raise TaskAuthorError(f"{source}: wrong head", "write `# kills: test_a, test_b`, then `# why: one sentence`")
    tree = _patched(source, data, reference_tree(task))
    return WrongSolution(name, tuple(kills[1].split(", ")) if kills[1] else (), why[1], tree)


def wrong_tree(task: Task, name: str) -> Tree:
    """The tree of one wrong solution."""
    return wrong_solution(task, name).tree


def solution_tree(task: Task, name: str) -> Tree:
    """``untouched``, ``reference``, or a wrong solution by name."""
    if name == UNTOUCHED:
        return task.base
    return reference_tree(task) if name == REFERENCE else wrong_tree(task, name)


@lru_cache(maxsize=256)
def _patched(source: Path, patch: bytes, base: Tree) -> Tree:
    with temporary_folder() as folder:
        for path, file in base.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.data)
        _git_apply(folder, patch, source)
        found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        tree = Tree({path: TreeFile(file.read_bytes(), _executable(base, path)) for path, file in found.items()})
    if not base.changed_paths(tree):
        raise TaskAuthorError(f"{source} changes nothing", "make it a diff against workspace and reference")
    return tree


def _git_apply(folder: Path, patch: bytes, source: Path) -> None:
    command = ["git", "-c", "core.autocrlf=false", "apply", "-p1", "--whitespace=nowarn", "-"]
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    try:
        done = subprocess.run(command, cwd=folder, input=patch, capture_output=True, env=environment, check=False)
    except OSError as error:
        raise HostError(f"cannot run git: {error}", "install git") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise TaskAuthorError(f"{source} does not apply: {said}", "make it a diff against workspace and reference")


def _executable(base: Tree, path: str) -> bool:
    return path in base and base[path].executable
