"""``agentgrade doctor``: would a run work here, and with which settings?"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from pytest_agentgrade.assignment.catalog import folders, load_tasks
from pytest_agentgrade.assignment.layers import read_file_layer
from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.assignment.secrets import hidden_settings, without_secrets
from pytest_agentgrade.assignment.settings import BUILT_IN_MODES, Resolved, Settings, resolve
from pytest_agentgrade.attempt.agents.registry import make_agent
from pytest_agentgrade.attempt.serving import check_running_servers, check_server
from pytest_agentgrade.errors import AgentGradeError
from pytest_agentgrade.run_setup import context_notes
from pytest_agentgrade.sandbox.derive import find_prepared
from pytest_agentgrade.sandbox.doctor import Requirement, checks
from pytest_agentgrade.sandbox.engine import connect


def diagnose(rootdir: Path, modes: Sequence[str] | None = None) -> tuple[list[str], bool]:
    """Lines for people, and whether a run of these modes would work; without ``modes`` all that there are.

    A built-in mode that does not fit the settings is no fault where the settings bring modes of their own.
    """
    try:
        resolved = resolve([read_file_layer(rootdir)])
    except AgentGradeError as error:
        return _lines([*checks(), _bad("settings", error)]), False
    settings = resolved.settings
    requirements = [*checks(settings.image, settings.runtime), _tasks(settings, rootdir), *_agent(settings)]
    requirements += [_mode(resolved, mode) for mode in (settings.all_modes() if modes is None else modes)]
    spare = set(BUILT_IN_MODES) - set(settings.modes) if modes is None and settings.modes else set()
    needless = {f"mode {name}" for name in spare}
    healthy = all(one.ok for one in requirements if one.name not in needless)
    return [*_lines(requirements, needless), "", *_settings_lines(resolved)], healthy


def _tasks(settings: Settings, rootdir: Path) -> Requirement:
    try:
        tasks = load_tasks(settings, rootdir)
        where = folders(settings, rootdir)[0]
    except AgentGradeError as error:
        return _bad("tasks", error)
    return Requirement("tasks", True, f"{len(tasks)} in {where}: {', '.join(task.name for task in tasks)}", "")


def _agent(settings: Settings) -> list[Requirement]:
    """Whether the agent's own image is there; nothing to say of agents that plugins bring."""
    title = f"agent {settings.agent}"
    try:
        agent = make_agent(settings.agent, settings)
        if agent is None:
            return []
        image = agent.needs.image
        if image is None or not agent.needs.image_hint:
            return [Requirement(title, True, f"runs in {image or 'the sandbox image'}", "")]
        client = connect()
        try:
            there = find_prepared(client, image) is not None
        finally:
            client.close()
    except AgentGradeError as error:
        return [_bad(title, error)]
    state = f"runs in {image}" if there else f"its image {image} is not there"
    return [Requirement(title, there, state, "" if there else agent.needs.image_hint)]


def _mode(resolved: Resolved, name: str) -> Requirement:
    title, settings = f"mode {name}", resolved.settings
    try:
        (mode,) = settings.pick_modes([name])
        check_server(settings, mode)
        context_notes(resolved, [mode])
        check_running_servers(settings, [mode])
    except AgentGradeError as error:
        return _bad(title, error)
    server = mode.server or settings.server
    # A server that runs already has the model that it was started with.
    model = "" if "://" in server else f", model {mode.model or settings.model}"
    return Requirement(title, True, f"server {server}{model}", "")


def _bad(name: str, error: AgentGradeError) -> Requirement:
    return Requirement(name, False, error.message, error.hint)


def _lines(requirements: Sequence[Requirement], needless: set[str] | None = None) -> list[str]:
    width = max(len(requirement.name) for requirement in requirements)
    lines = []
    for one in requirements:
        spare = not one.ok and one.name in (needless or ())
        mark = "ok " if one.ok else "-- " if spare else "NO "
        lines.append(f"{mark} {one.name.ljust(width)}  {one.state}")
        if spare:
            lines.append(f"    {' ' * width}  (built in; your own modes do not need it)")
        elif not one.ok and one.remedy:
            lines.append(f"    {' ' * width}  -> {one.remedy}")
    return lines


def _settings_lines(resolved: Resolved) -> list[str]:
    values = hidden_settings(resolved.settings.model_dump(mode="json"))
    del values["modes"]
    width = max(len(name) for name in values)
    lines = [f"  {name.ljust(width)}  {_shown(value)}  ({resolved.sources[name]})" for name, value in values.items()]
    head = "settings, and where each comes from (agentgrade.toml, or [tool.agentgrade] in pyproject.toml):"
    return [head, *lines, "", *_mode_lines(resolved)]


def _mode_lines(resolved: Resolved) -> list[str]:
    """Every mode with all that it declares."""
    modes = resolved.settings.all_modes()
    width = max(map(len, modes))
    lines = ["modes, and what each declares:"]
    for name, mode in modes.items():
        source = resolved.sources["modes"] if name in resolved.settings.modes else "built in"
        lines.append(f"  {name.ljust(width)}  {_declared(mode)}  ({source})")
    return lines


def _declared(mode: Mode) -> str:
    """Flags as on a command line, then whatever else is set."""
    flags = shlex.join(without_secrets(mode.server_args)) or "no flags"
    places = (("model", mode.model), ("server", mode.server), ("placebo_of", mode.placebo_of))
    more = [f"{name} = {_shown(value)}" for name, value in places if value is not None]
    more += [f"speculates = {_shown(mode.speculates)}"] if mode.speculates is not None else []
    more += [] if mode.lossless else ["lossless = false"]
    return "; ".join([flags, *more])


def _shown(value: object) -> str:
    """As it would be written in the file, nearly."""
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)
