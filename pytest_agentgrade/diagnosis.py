"""``agentgrade doctor``: would a run work here, and with which settings?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_agentgrade.assignment.catalog import folders, load_tasks
from pytest_agentgrade.assignment.settings import Resolved, read_file_layer, resolve
from pytest_agentgrade.attempt.serving import check_server
from pytest_agentgrade.errors import AgentGradeError
from pytest_agentgrade.sandbox.doctor import Requirement, checks


def diagnose(rootdir: Path, modes: Sequence[str]) -> tuple[list[str], bool]:
    """Lines for people, and whether a run of these modes would work."""
    requirements = list(checks())
    try:
        resolved = resolve([read_file_layer(rootdir)])
    except AgentGradeError as error:
        requirements.append(_bad("settings", error))
        return _lines(requirements), False
    requirements += [_tasks(resolved, rootdir), *(_mode(resolved, mode) for mode in modes)]
    healthy = all(requirement.ok for requirement in requirements)
    return [*_lines(requirements), "", *_settings_lines(resolved)], healthy


def _tasks(resolved: Resolved, rootdir: Path) -> Requirement:
    try:
        tasks = load_tasks(resolved.settings, rootdir)
        where = folders(resolved.settings, rootdir)[0]
    except AgentGradeError as error:
        return _bad("tasks", error)
    return Requirement("tasks", True, f"{len(tasks)} in {where}: {', '.join(task.name for task in tasks)}", "")


def _mode(resolved: Resolved, name: str) -> Requirement:
    title = f"mode {name}"
    try:
        (mode,) = resolved.settings.pick_modes([name])
        check_server(resolved.settings, mode)
    except AgentGradeError as error:
        return _bad(title, error)
    server = mode.server or resolved.settings.server
    return Requirement(title, True, f"server {server}, model {mode.model or resolved.settings.model}", "")


def _bad(name: str, error: AgentGradeError) -> Requirement:
    return Requirement(name, False, error.message, error.hint)


def _lines(requirements: Sequence[Requirement]) -> list[str]:
    width = max(len(requirement.name) for requirement in requirements)
    lines = []
    for requirement in requirements:
        lines.append(f"{'ok ' if requirement.ok else 'NO '} {requirement.name.ljust(width)}  {requirement.state}")
        if not requirement.ok and requirement.remedy:
            lines.append(f"    {' ' * width}  -> {requirement.remedy}")
    return lines


def _settings_lines(resolved: Resolved) -> list[str]:
    values = resolved.settings.model_dump(mode="json")
    width = max(len(name) for name in values)
    lines = (f"  {name.ljust(width)}  {value!r}  ({resolved.sources[name]})" for name, value in values.items())
    return ["settings:", *lines]
