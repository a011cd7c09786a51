"""Run those targets of a build that are out of date."""

import heapq
import json
import os

from build_planner.errors import CycleError, UnknownInput, WrongOutputs


def build(targets, files, runner, state_path):
    """Bring all targets up to date and return the names of those that were run, in order."""
    targets = {target["name"]: target for target in targets}
    order = _order(_dependencies(targets, files))
    remembered = _load(state_path)
    remembered = {name: remembered[name] for name in targets if name in remembered}
    hashes = dict(files)
    ran = []
    try:
        for name in order:
            target = targets[name]
            recipe = {
                "command": target["command"],
                "inputs": {path: hashes[path] for path in target["inputs"]},
                "outputs": sorted(target["outputs"]),
            }
            if not _up_to_date(remembered.get(name), recipe, files):
                remembered.pop(name, None)
                remembered[name] = {"recipe": recipe, "made": _run(target, runner)}
                ran.append(name)
            hashes.update(remembered[name]["made"])
    finally:
        _save(state_path, remembered)
    return ran


def _dependencies(targets, files):
    """Name -> set of the names it depends on."""
    producers = {path: name for name, target in targets.items() for path in target["outputs"]}
    for name, target in targets.items():
        for path in target["inputs"]:
            if path not in producers and path not in files:
                raise UnknownInput(name, path)
    return {
        name: {producers[path] for path in target["inputs"] if path in producers} for name, target in targets.items()
    }


def _order(dependencies):
    """The smallest name first among those whose dependencies are all done."""
    dependents = {name: [] for name in dependencies}
    for name, needed in dependencies.items():
        for other in needed:
            dependents[other].append(name)
    waiting = {name: len(needed) for name, needed in dependencies.items()}
    ready = sorted(name for name in waiting if not waiting[name])
    order = []
    while ready:
        order.append(heapq.heappop(ready))
        for name in dependents[order[-1]]:
            waiting[name] -= 1
            if not waiting[name]:
                heapq.heappush(ready, name)
    if len(order) < len(dependencies):
        raise CycleError(_cycle(dependencies, set(dependencies) - set(order)))
    return order


def _cycle(dependencies, stuck):
    """Each stuck target depends on a stuck one, so walking from any of them ends in a cycle."""
    place = {}
    name = min(stuck)
    while name not in place:
        place[name] = len(place)
        name = min(dependencies[name] & stuck)
    members = list(place)[place[name] :]
    first = members.index(min(members))
    return members[first:] + members[:first]


def _up_to_date(record, recipe, files):
    if record is None or record["recipe"] != recipe:
        return False
    return all(files.get(path) == content for path, content in record["made"].items())


def _run(target, runner):
    made = runner(target["name"], target["command"])
    declared = set(target["outputs"])
    if set(made) != declared:
        raise WrongOutputs(target["name"], declared - set(made), set(made) - declared)
    return made


def _load(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _save(path, state):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(state, file)
