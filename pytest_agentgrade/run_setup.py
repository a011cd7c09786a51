"""What is decided before anything starts: tasks, modes, plan. Every mistake of the user is found here."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest_agentgrade
from pytest_agentgrade.assignment.catalog import folders, load_tasks, task_names
from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.assignment.patch_set import PatchSet, few
from pytest_agentgrade.assignment.secrets import hidden_settings
from pytest_agentgrade.assignment.settings import Resolved, Settings, is_url
from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.plan import Plan, make_plan
from pytest_agentgrade.records.host import describe_host
from pytest_agentgrade.records.model import KeyRecord, RunRecord
from pytest_agentgrade.records.store import RunStore

if TYPE_CHECKING:
    from pytest_agentgrade.attempt.agents.base import Agent


@dataclass(frozen=True)
class RunSetup:
    """All that is decided before anything starts: validated, the same in every process of the run."""

    settings: Settings
    sources: dict[str, str]
    modes: tuple[Mode, ...]
    tasks: tuple[Task, ...]
    plan: Plan
    agent: Agent | None = None
    """What edits the workspaces; None where patches made elsewhere are judged."""
    patches: PatchSet | None = None
    notes: tuple[str, ...] = ()
    """What the user should know before it starts, one line each."""

    @property
    def check_files(self) -> tuple[Path, ...]:
        """The modules of hidden checks, one for each task."""
        return tuple(task.check_file for task in self.tasks)

    def task(self, name: str) -> Task:
        """A task of this run by name."""
        return next(task for task in self.tasks if task.name == name)

    def mode(self, name: str) -> Mode:
        """A mode of this run by name."""
        return next(mode for mode in self.modes if mode.name == name)

    def new_record(self, run_id: str, draw_key: str) -> RunRecord:
        """The run's own record, with the secret key (hex) of its draws."""
        return RunRecord(
            run_id=run_id,
            created_at=time.time(),
            version=pytest_agentgrade.__version__,
            settings=hidden_settings(self.settings.model_dump(mode="json")),
            sources=dict(self.sources),
            modes={mode.name: hidden_settings(asdict(mode)) for mode in self.modes},
            plan=[KeyRecord(**asdict(key)) for key in self.plan.keys],
            plan_digest=self.plan.digest,
            order=self.plan.order,
            draw_key=draw_key,
            host=describe_host(),
            patches=None if self.patches is None else str(self.patches.folder),
            tasks={task.name: task.fingerprint for task in self.tasks},
        )


def prepare(
    resolved: Resolved, rootdir: Path, mode_names: Sequence[str], patches: Path | None, agent: Agent | None = None
) -> RunSetup:
    """Load tasks and modes and make the plan; every mistake of the user ends here, as a SettingsError."""
    settings = resolved.settings
    if patches is not None:
        return _prepare_patches(resolved, rootdir, mode_names, PatchSet(patches))
    modes = settings.pick_modes(mode_names)
    tasks = load_tasks(settings, rootdir)
    _check_servers(settings, modes)
    notes = context_notes(resolved, modes)
    plan = _plan(settings, [task.name for task in tasks], [mode.name for mode in modes])
    plan = _as_recorded(plan, settings, rootdir)
    return RunSetup(settings, dict(resolved.sources), modes, tasks, plan, agent, notes=notes)


def _prepare_patches(resolved: Resolved, rootdir: Path, mode_names: Sequence[str], patches: PatchSet) -> RunSetup:
    settings = resolved.settings
    modes = settings.pick_modes(mode_names, new=Mode)
    known = task_names(folders(settings, rootdir)[0])
    wanted = settings.tasks if settings.tasks is not None else known
    plan = _plan(settings, sorted(set(wanted)), [mode.name for mode in modes])
    files = {key: patches.find(key.task, key.mode, key.seed, key.repeat) for key in plan.keys}
    keys = tuple(key for key in plan.keys if files[key] is not None)
    tasks = load_tasks(settings, rootdir, wanted)
    found = {key.task for key in keys}
    missing = tuple(task.name for task in tasks if task.name not in found)
    strays = patches.strays([mode.name for mode in modes], known, filter(None, files.values()))
    patches.refuse_mistakes(strays, known, found)
    if not keys or (settings.tasks is not None and missing):
        what = f"{patches.folder} holds no patch for {', '.join(missing)}"
        raise SettingsError(what, patches.what_to_write([mode.name for mode in modes], strays))
    notes = [f"no patch for {', '.join(missing)}"] if missing else []
    notes += [f"not used, as no task is named so: {few(strays)} (tasks: {', '.join(known)})"] if strays else []
    tasks = tuple(task for task in tasks if task.name in found)
    plan = _as_recorded(Plan(keys, plan.order), settings, rootdir)
    return RunSetup(settings, dict(resolved.sources), modes, tasks, plan, None, patches, tuple(notes))


def _plan(settings: Settings, tasks: Sequence[str], modes: Sequence[str]) -> Plan:
    for name, values in (("seeds", settings.seeds), ("response_tokens", settings.response_tokens)):
        if len(set(values)) != len(values):
            raise SettingsError(f"{name} = {values!r} names a value twice", "use --agent-repeat for repeats")
    return make_plan(tasks, modes, settings.seeds, settings.repeats, settings.response_tokens, settings.order)


def _as_recorded(plan: Plan, settings: Settings, rootdir: Path) -> Plan:
    """A run that is resumed keeps its order: another version may have put the same attempts into another one."""
    if settings.run_dir is None:
        return plan
    store = RunStore(rootdir / Path(settings.run_dir).expanduser())
    if not store.exists():
        return plan
    planned = store.planned()
    return Plan(planned, store.run().order) if set(planned) == set(plan.keys) else plan


def context_notes(resolved: Resolved, modes: Sequence[Mode]) -> tuple[str, ...]:
    """Prompt and response share the context of a server launched here. SettingsError when nothing is left for one."""
    settings = resolved.settings
    if all(is_url(mode.server or settings.server) for mode in modes):
        return ()
    tokens, context = max(settings.response_tokens), settings.context
    if tokens >= context:
        budget = f"response_tokens = {tokens} ({resolved.sources['response_tokens']})"
        raise SettingsError(
            f"{budget} leaves no room for a prompt in context = {context} ({resolved.sources['context']})",
            f"write response_tokens = {context // 4}, or context = {4 * tokens}, for example",
        )
    if tokens <= context // 2:
        return ()
    return (f"one response may take {tokens} of {context} tokens of context: all that came before has the rest",)


def _check_servers(settings: Settings, modes: Sequence[Mode]) -> None:
    from pytest_agentgrade.attempt.serving import check_server

    for mode in modes:
        check_server(settings, mode)
