"""The agent ``single``, whole: one completion that carries the change, for models without tool calling.

It runs inside the agent's container with nothing but the standard library. It shows the model the task and the files
of the workspace, asks once, applies the edits of the reply and writes a JSON line for each to stdout. An edit that does
not fit exactly is not made, and its line says why.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pytest_agentgrade.attempt.agents.completion_edits import (
    Edit,
    Replacement,
    UnifiedDiff,
    Unusable,
    WholeFile,
    find_edits,
)
from pytest_agentgrade.attempt.agents.toolloop_program import (
    LimitReached,
    Model,
    Reply,
    ServerFailed,
    ToolError,
    Workspace,
    event,
)
from pytest_agentgrade.errors import SubmissionRefused
from pytest_agentgrade.submission.patches import apply_patch
from pytest_agentgrade.submission.tree import Tree, TreeFile

VERSION = "1"
SYSTEM_PROMPT = (
    "You are a coding agent without tools. You see a task and the files of its workspace. Reply once, with the whole "
    "change; nobody answers questions. For each file either give its whole new content in a fenced block with its path "
    "alone on the line above the fence, or give blocks of this form, the path on the line above:\n"
    "path/of/file.py\n<<<<<<< SEARCH\nlines exactly as they are, found once in the file\n=======\n"
    "the lines that replace them\n>>>>>>> REPLACE"
)
FILE_CHARACTERS = 60_000
"""Longest file that the model is shown."""
ALL_CHARACTERS = 200_000
EDITS = 200


class EditRefused(Exception):
    """Why an edit was not made."""


def shown_files(workspace: Workspace) -> str:
    """The text files of the workspace, each in a fence below its path."""
    parts: list[str] = []
    left = ALL_CHARACTERS
    for file in workspace.files("."):
        name = workspace.name(file)
        try:
            text = workspace.text(name)
        except ToolError:
            parts.append(f"{name} is no text file.")
            continue
        if len(text) > min(FILE_CHARACTERS, left):
            parts.append(f"{name} is too long to be shown.")
            continue
        left -= len(text)
        parts.append(f"{name}\n````\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}````")
    return "\n\n".join(parts)


def messages(task: str, workspace: Workspace) -> list[dict[str, Any]]:
    """The whole conversation."""
    return [
        {"role": "system", "content": SYSTEM_PROMPT},
        {"role": "user", "content": f"{task}\n\nThe files of the workspace:\n\n{shown_files(workspace)}"},
    ]


def apply(workspace: Workspace, edit: Edit) -> str:
    """Make one edit; a sentence about it. Raises EditRefused or ToolError, and then nothing has changed."""
    match edit:
        case WholeFile(path, content):
            workspace.save(path, content)
            return f"wrote {path}, {content.count(chr(10))} lines"
        case Replacement(path, old, new):
            return _replace(workspace, path, old, new)
        case UnifiedDiff(text):
            return _patch(workspace, text)
        case Unusable(reason):
            raise EditRefused(reason)


def _replace(workspace: Workspace, path: str, old: str, new: str) -> str:
    exists = workspace.locate(path).exists()
    text = workspace.text(path) if exists else ""
    if not old:
        if text:
            raise EditRefused(f"{path}: the SEARCH text is empty and the file is not")
        workspace.save(path, new)
        return f"created {path}"
    if not exists:
        raise EditRefused(f"{path}: no such file")
    found = text.count(old)
    if not found and not text.endswith("\n"):  # the last line of such a file has no line end to be found
        old, new = old.removesuffix("\n"), new.removesuffix("\n")
        found = int(text.endswith(old))
    if found != 1:
        raise EditRefused(f"{path}: the SEARCH text occurs {found} times, it must once")
    workspace.save(path, text.replace(old, new))
    return f"replaced in {path}"


def _patch(workspace: Workspace, text: str) -> str:
    files = {
        workspace.name(file): TreeFile(file.read_bytes(), bool(file.stat().st_mode & 0o100))
        for file in workspace.files(".")
        if not file.is_symlink()
    }
    base = Tree(files)
    try:
        tree = apply_patch(base, text.encode("utf-8", "replace")).tree
    except SubmissionRefused as error:
        raise EditRefused(str(error)) from error
    changed = base.changed_paths(tree)
    for path in changed:
        if path in tree:
            workspace.save(path, tree[path].data.decode("utf-8", "surrogateescape"))
        else:
            workspace.locate(path).unlink()
    return f"patched {', '.join(changed) or 'nothing'}"


def make_edits(workspace: Workspace, edits: tuple[Edit, ...]) -> tuple[int, int]:
    """Make them one after another; how many were made, and how many not."""
    made = refused = 0
    for number, edit in enumerate(edits[:EDITS], 1):
        form = type(edit).__name__
        try:
            text = apply(workspace, edit)
        except (EditRefused, ToolError, OSError, UnicodeError) as error:
            refused += 1
            event("edit", number=number, form=form, ok=False, text=str(error)[:300])
            continue
        made += 1
        event("edit", number=number, form=form, ok=True, text=text[:300])
    return made, refused + len(edits[EDITS:])


def ask(model: Model, conversation: list[dict[str, Any]]) -> Reply | str:
    """The reply, or why there is none: ``limit`` or ``server``."""
    for last in (False, True):
        try:
            return model.ask(conversation, tools=[])
        except LimitReached:
            return "limit"
        except ServerFailed as error:
            event("failed" if last or not error.retry else "retry", text=str(error)[:300])
            if not error.retry:
                break
    return "server"


def work(model: Model, workspace: Workspace, task: str) -> dict[str, Any]:
    """Ask, edit; what the last event says."""
    reply = ask(model, messages(task, workspace))
    if isinstance(reply, str):
        return {"reason": reply, "made": 0, "refused": 0}
    made, refused = make_edits(workspace, find_edits(reply.content))
    whole = reply.finish_reason == "stop" and bool(reply.content.strip())
    return {"reason": "finish" if whole else "cut", "made": made, "refused": refused}


def main() -> None:
    """Do the task in a file."""
    parser = argparse.ArgumentParser(description="A coding agent that answers once.")
    parser.add_argument("task", type=Path, help="file with the task's text")
    parser.add_argument("--url", default="http://127.0.0.1:8080/v1", help="base URL of the chat completions")
    parser.add_argument("--workspace", default="/work", type=Path)
    options = parser.parse_args()
    event("start", agent="single", version=VERSION)
    event("end", **work(Model(options.url), Workspace(options.workspace), options.task.read_text(encoding="utf-8")))
    sys.exit(0)


if __name__ == "__main__":
    main()
