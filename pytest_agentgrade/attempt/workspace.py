"""The workspace that the agent gets: the task's files under version control, the same bytes for every attempt."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.errors import HostError
from pytest_agentgrade.sandbox.temporary import temporary_folder
from pytest_agentgrade.submission.tree import Tree

BRANCH = "main"
_AUTHOR = "agentgrade"
_EMAIL = "agentgrade@sandbox.invalid"
_EPOCH = 1_767_225_600
"""2026-01-01 00:00 UTC: the date of the commit and of every file."""
_UID = 65532
_CONFIG = f"""[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
[user]
\tname = agent
\temail = agent@sandbox.invalid
[gc]
\tauto = 0
[init]
\tdefaultBranch = {BRANCH}
"""
_GIT_FILES = ("HEAD", "config", "index", "objects", "refs")
"""What of git's folder travels; hooks, logs and descriptions of the host's git stay behind."""


@dataclass(frozen=True)
class Workspace:
    """A task's initial workspace, ready to be unpacked where the agent works."""

    tree: Tree
    """The files without ``.git``."""
    commit_id: str
    """40 hex digits; depends on the files' paths, modes and bytes alone."""
    tar: bytes = field(repr=False)
    """A tar archive of the files and ``.git``, owned by the agent's user."""


def build(task: Task) -> Workspace:
    """The workspace of ``task``, committed on branch ``main`` with fixed author, date and modes.

    Nothing of the host's git configuration, umask, time zone or clock enters. Raises HostError when git fails.
    """
    with temporary_folder() as folder:
        home = folder / "home"
        root = folder / "work"
        home.mkdir()
        _write_files(task.base, root)
        commit_id = _commit(root, home)
        return Workspace(task.base, commit_id, _packed(task.base, root / ".git"))


def _write_files(tree: Tree, root: Path) -> None:
    root.mkdir()
    for path, file in tree.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.data)
        target.chmod(file.mode)
        os.utime(target, (_EPOCH, _EPOCH))


def _commit(root: Path, home: Path) -> str:
    (root / ".git").mkdir()
    _git(root, home, "init", "--quiet", "--template=", f"--initial-branch={BRANCH}")
    (root / ".git" / "config").write_text(_CONFIG, encoding="ascii")
    _git(root, home, "add", "--all", "--force")
    _git(root, home, "commit", "--quiet", "--no-verify", "--no-gpg-sign", "--message=Initial workspace")
    # An index made from the commit alone holds no inode numbers or times of this machine.
    (root / ".git" / "index").unlink()
    _git(root, home, "read-tree", "HEAD")
    return _git(root, home, "rev-parse", "HEAD").strip()


def _git(root: Path, home: Path, *arguments: str) -> str:
    options = ("-c", "core.autocrlf=false", "-c", "core.attributesFile=/dev/null", "-c", "core.hooksPath=/dev/null")
    command = ["git", *options, *arguments]
    try:
        done = subprocess.run(
            command, cwd=root, env=_environment(home), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(f"cannot run git: {error}", "install git") from error
    if done.returncode != 0:
        raise HostError(f"`git {arguments[0]}` failed in a new workspace: {done.stderr.strip()[:300]}")
    return done.stdout


def _environment(home: Path) -> Mapping[str, str]:
    """Nothing of ours but PATH: GIT_* variables, configuration and locale of the host change what git does."""
    date = f"{_EPOCH} +0000"
    return {
        "PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LC_ALL": "C", "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ATTR_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": _AUTHOR, "GIT_AUTHOR_EMAIL": _EMAIL, "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_NAME": _AUTHOR, "GIT_COMMITTER_EMAIL": _EMAIL, "GIT_COMMITTER_DATE": date,
    }  # fmt: skip


def _packed(tree: Tree, git: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        folders: set[str] = set()
        files = [(path, file.data, file.mode) for path, file in tree.items()]
        files += [(f".git/{name}", data, 0o644) for name, data in _git_files(git)]
        for path, data, mode in files:
            for parent in reversed(Path(path).parents[:-1]):
                if str(parent) not in folders:
                    folders.add(str(parent))
                    tar.addfile(_member(str(parent), tarfile.DIRTYPE, 0o755))
            member = _member(path, tarfile.REGTYPE, mode)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        tar.addfile(_member(".git/refs/tags", tarfile.DIRTYPE, 0o755))
    return buffer.getvalue()


def _git_files(git: Path) -> list[tuple[str, bytes]]:
    names = [path.relative_to(git) for path in sorted(git.rglob("*")) if path.is_file()]
    return [(name.as_posix(), (git / name).read_bytes()) for name in names if name.parts[0] in _GIT_FILES]


def _member(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.mode, member.mtime = kind, mode, _EPOCH
    member.uid = member.gid = _UID
    return member
