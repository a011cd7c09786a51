"""Which folder a run's records go to: a new one, or that of a run to be resumed or judged again."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from pytest_agentgrade.assignment.secrets import hidden_settings
from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.draw_key import choose_draw_key
from pytest_agentgrade.errors import AgentGradeError, HostError, SettingsError
from pytest_agentgrade.escaping import escape
from pytest_agentgrade.places import require_folder
from pytest_agentgrade.records.model import RunRecord
from pytest_agentgrade.records.store import RUNS_FOLDER, RunStore
from pytest_agentgrade.run_setup import RunSetup
from pytest_agentgrade.wording import counted

_MAY_DIFFER = frozenset({"run_dir", "exit", "tasks_dir", "checks_dir", "draws"})
"""Settings that do not change what is measured."""
_LOCK = ".lock"
_TASK = "task "
_CHARACTERS = 200
"""Of one value in a message."""


def choose_folder(setup: RunSetup, rootdir: Path, held: ExitStack, *, again: bool) -> Path:
    """The folder for this run, holding a ``run.json`` that fits ``setup``; its lock is entered into ``held``.

    ``--agent-run-dir`` names it (SettingsError when a run with other settings lies there); else, to judge again, the
    newest fitting run of ``agentgrade-runs/``; else a new one.
    """
    if setup.settings.run_dir is not None:
        folder = (rootdir / Path(setup.settings.run_dir).expanduser()).resolve()
        store = RunStore(folder)
        if not store.exists():
            _refuse_foreign_content(folder)
            _require_place_of_draws(setup, rootdir)
        held.enter_context(sole_user(folder))
        if not store.exists():
            store.create(_new_record(setup, rootdir, folder.name))
        elif difference := _difference(setup, store.run()):
            remedy = "choose another --agent-run-dir, or the settings of that run"
            raise SettingsError(f"{folder} holds a run made with other settings: {difference}", remedy)
        # Before an agent runs: a record that cannot be read would only show when the summary is made.
        list(store.records())
        return folder
    base = rootdir / RUNS_FOLDER
    if again and (found := _newest_fitting(setup, base)) is not None:
        held.enter_context(sole_user(found))
        list(RunStore(found).records())
        return found
    _require_place_of_draws(setup, rootdir)
    folder = base / _new_name()
    held.enter_context(sole_user(folder))
    RunStore(folder).create(_new_record(setup, rootdir, folder.name))
    return folder


@contextmanager
def sole_user(folder: Path) -> Generator[None, None, None]:
    """Hold the folder's lock, without waiting: two processes that judge and set aside would lose records."""
    lock = FileLock(folder / _LOCK)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout as error:
        raise SettingsError(f"{folder} is in use by another process", "wait for it, or name another folder") from error
    except OSError as error:
        raise HostError(f"cannot use {folder}: {error}", "choose another --agent-run-dir") from error
    try:
        yield
    finally:
        lock.release()


def _new_record(setup: RunSetup, rootdir: Path, run_id: str) -> RunRecord:
    return setup.new_record(run_id, choose_draw_key(_draws(setup, rootdir)))


def _draws(setup: RunSetup, rootdir: Path) -> Path | None:
    draws = setup.settings.draws
    return None if draws is None else rootdir / Path(draws).expanduser()


def _require_place_of_draws(setup: RunSetup, rootdir: Path) -> None:
    """Before a folder is made for the run."""
    if (draws := _draws(setup, rootdir)) is not None:
        require_folder(draws, "--agent-draws")


def _newest_fitting(setup: RunSetup, base: Path) -> Path | None:
    for folder in sorted(base.glob("*/run.json"), reverse=True):
        try:
            record = RunStore(folder.parent).run()
        except AgentGradeError:
            # A run of another schema cannot be judged again by this version; it stays where it is.
            continue
        if not _difference(setup, record):
            return folder.parent
    return None


def _difference(setup: RunSetup, record: RunRecord) -> str:
    """What differs between the settings of a recorded run and those asked for, with both values; empty: nothing."""
    recorded, given = _compared(record), _compared(setup.new_record("", ""))
    names = [name for name in sorted({*recorded, *given}) if recorded.get(name) != given.get(name)]
    # Of tasks that are in one of them only the plan tells (and a run of an older version names none).
    names = [name for name in names if not name.startswith(_TASK) or {name} <= recorded.keys() & given.keys()]
    told = [name for name in names if name != "plan"] or names
    return "; ".join(f"{name}: {_both(name, recorded.get(name), given.get(name))}" for name in told)


def _compared(record: RunRecord) -> dict[str, Any]:
    """Dotted name -> value of all that two processes of one run must agree on; keys are hidden in both."""
    written = record.model_dump(mode="json")
    # What an older version did not know of yet was as it is by default.
    settings = hidden_settings(Settings.model_validate({}).model_dump(mode="json") | written["settings"])
    kept = {name: value for name, value in settings.items() if name not in _MAY_DIFFER}
    found = _flat({**kept, "modes": {**settings["modes"], **hidden_settings({"modes": written["modes"]})["modes"]}})
    # Their order has a setting of its own; what another version made of it is no other run.
    plan = sorted(written["plan"], key=lambda key: (key["task"], key["label"]))
    found |= {"plan": plan, "patches": written["patches"]}
    return found | {f"{_TASK}{name}": digest for name, digest in record.tasks.items()}


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in table.items():
        found |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found


def _both(name: str, recorded: Any, given: Any) -> str:
    if name.startswith(_TASK):
        return "it or its checks have changed"
    if name == "plan":
        counts = (counted(len(plan), "attempt") for plan in (recorded, given))
        return "recorded {}, given {}, not the same ones".format(*counts)
    return f"recorded {_shown(recorded)}, given {_shown(given)}"


def _shown(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return escape(text, _CHARACTERS)


def _refuse_foreign_content(folder: Path) -> None:
    if folder.is_dir() and any(path.name != _LOCK for path in folder.iterdir()):
        raise SettingsError(f"--agent-run-dir={folder} is neither empty nor a run", "name an empty or new folder")
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"--agent-run-dir={folder} is a file", "name a folder")


def _new_name() -> str:
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime()) + "-" + secrets.token_hex(2)
