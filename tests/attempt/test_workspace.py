from __future__ import annotations

import io
import os
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.attempt.workspace import Workspace, build
from pytest_agentgrade.submission.tree import Tree, TreeFile

FILES = Tree(
    {
        ".gitignore": TreeFile(b"*.log\n"),
        "pkg/__init__.py": TreeFile(b""),
        "pkg/kept.log": TreeFile(b"ignored by git, but the task has it\r\n"),
        "pkg/é.py": TreeFile("x = 'é'\r\n".encode()),
        "run.sh": TreeFile(b"#!/bin/sh\n", executable=True),
    }
)


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task(
        name="demo", title="Demo", package="pkg", prompt="Do it.", editable=("pkg/*",), protected=("pkg/errors.py",),
        tests=("tests/*",), test_command=("true",), base=FILES, folder=tmp_path, checks_folder=tmp_path,
    )  # fmt: skip


def unpack(workspace: Workspace, root: Path) -> Path:
    root.mkdir()
    with tarfile.open(fileobj=io.BytesIO(workspace.tar)) as tar:
        tar.extractall(root, filter="data")
    return root


def git(root: Path, *arguments: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *arguments], cwd=root, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_same_bytes_same_commit_and_archive_whatever_the_host(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build(task)
    hostile = tmp_path / "home"
    hostile.mkdir()
    (hostile / "hooks").mkdir()
    hook = hostile / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    (hostile / ".gitconfig").write_text(
        f"[core]\n autocrlf = true\n filemode = false\n hooksPath = {hostile}/hooks\n[user]\n name = Somebody\n"
        "[commit]\n gpgsign = true\n[init]\n defaultBranch = trunk\n defaultObjectFormat = sha256\n"
    )
    other = tmp_path / "elsewhere"
    other.mkdir()
    for name, value in {
        "HOME": str(hostile), "TMPDIR": str(other), "TZ": "Asia/Tokyo", "GIT_DIR": str(tmp_path), "LC_ALL": "de_DE",
        "GIT_AUTHOR_NAME": "Somebody", "GIT_COMMITTER_DATE": "2001-01-01", "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.autocrlf", "GIT_CONFIG_VALUE_0": "true", "GIT_DEFAULT_HASH": "sha256",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", None)
    before = os.umask(0o077)
    try:
        second = build(task)
    finally:
        os.umask(before)
    assert second.commit_id == first.commit_id
    assert second.tar == first.tar
    assert [path.name for path in other.rglob("*")] == [f"agentgrade-{os.getuid()}", "t"]


def test_commit_depends_on_bytes_modes_and_paths(task: Task) -> None:
    changes: list[dict[str, TreeFile | None]] = [
        {"run.sh": TreeFile(b"#!/bin/sh\n")},
        {"run.sh": TreeFile(b"#!/bin/sh\n\n", executable=True)},
        {"run.sh": None, "run": FILES["run.sh"]},
    ]
    trees = [FILES, *(FILES.with_files(change) for change in changes)]
    assert len({build(replace(task, base=tree)).commit_id for tree in trees}) == len(trees)


def test_the_agent_finds_a_clean_checkout(task: Task, tmp_path: Path) -> None:
    workspace = build(task)
    root = unpack(workspace, tmp_path / "unpacked")
    assert git(root, "rev-parse", "HEAD").strip() == workspace.commit_id
    assert git(root, "status", "--porcelain", "--ignored") == ""
    assert git(root, "log", "--format=%an %ae %at %cn %ct %D%n%s").splitlines() == [
        "agentgrade agentgrade@sandbox.invalid 1767225600 agentgrade 1767225600 HEAD -> main",
        "Initial workspace",
    ]
    assert git(root, "fsck", "--strict") == ""
    (root / "pkg" / "__init__.py").write_text("x = 1\n")
    git(root, "commit", "-q", "-a", "-m", "by the agent")
    assert git(root, "log", "-1", "--format=%an").strip() == "agent"


def test_files_are_the_tasks_own(task: Task, tmp_path: Path) -> None:
    workspace = build(task)
    root = unpack(workspace, tmp_path / "unpacked")
    for path, file in FILES.items():
        assert (root / path).read_bytes() == file.data
        assert bool((root / path).stat().st_mode & 0o100) == file.executable
    assert workspace.tree == FILES
    assert not (root / ".git" / "hooks").exists()
    with tarfile.open(fileobj=io.BytesIO(workspace.tar)) as tar:
        assert {(member.uid, member.gid, member.mtime) for member in tar} == {(65532, 65532, 1_767_225_600)}
