"""Run the targets of a build. All or nothing: if any source has changed, every target is run."""

import json
import os

from build_planner.errors import WrongOutputs


def build(targets, files, runner, state_path):
    """Run the targets, dependencies first, and return the names of those that were run."""
    targets = list(targets)
    producers = {path: target for target in targets for path in target["outputs"]}
    sources = {path: content for path, content in files.items() if path not in producers}
    if _load(state_path) == sources:
        return []
    ran = []

    def visit(target):
        if target["name"] in ran:
            return
        for path in target["inputs"]:
            if path in producers:
                visit(producers[path])
        _run(target, runner)
        ran.append(target["name"])

    for target in targets:
        visit(target)
    _save(state_path, sources)
    return ran


def _run(target, runner):
    made = runner(target["name"], target["command"])
    declared = set(target["outputs"])
    if set(made) != declared:
        raise WrongOutputs(target["name"], declared - set(made), set(made) - declared)
    return made


def _load(path):
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _save(path, state):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(state, file)
