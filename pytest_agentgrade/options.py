"""The command line: options, and how they become the top layer of the settings."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_agentgrade.errors import SettingsError

if TYPE_CHECKING:
    from pytest_agentgrade.assignment.layers import Layer
    from pytest_agentgrade.assignment.presets import Preset
    from pytest_agentgrade.assignment.settings import Resolved
    from pytest_agentgrade.records.model import RunRecord


class _Option(NamedTuple):
    flag: str
    field: str
    read: Callable[[str], Any]
    metavar: str
    """Empty for an option without a value."""
    help: str


def _integers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError("whole numbers are wanted, with commas between them, such as 4096 or 4096,8192") from None


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("a whole number is wanted, such as 2 or 32768") from None


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("a number of seconds is wanted, such as 480") from None


def _path(text: str) -> str:
    """As with pytest's own options, from where one stands."""
    return str(Path(text).expanduser().absolute())


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _is_given(text: str) -> bool:
    return text == _GIVEN


_GIVEN = "yes"
"""Value of an option that takes none; text as well."""
_OPTIONS = (
    _Option("--agent-model", "model", str, "GGUF", "model file (default: the embedded demo model, a fixture)"),
    _Option(
        "--agent-server", "server", str, "SERVER",
        "what serves the model: embedded (default; llama.cpp in a Python package), the path of a llama-server binary, "
        "or the URL of a server that runs already",
    ),
    _Option(
        "--agent-name", "agent", str, "AGENT",
        "what edits the files: toolloop (default, built in), single (one answer, no tools), command (a program of "
        "your own), opencode, aider, mini-swe-agent, qwen-code",
    ),
    _Option("--agent-version", "agent_version", str, "VERSION", "version of that agent (default: the one tried here)"),
    _Option("--agent-task", "tasks", _names, "TASK,...", "tasks to give (default: all four)"),
    _Option("--agent-seed", "seeds", _integers, "N,...", "sampling seeds; an attempt for each (default: 4242,8675309)"),
    _Option("--agent-repeat", "repeats", _integer, "N", "attempts for each task, mode and seed (default: 1)"),
    _Option(
        "--agent-response-tokens", "response_tokens", _integers, "N,...",
        "most tokens of one response, reasoning included (default: 8192); several make it a factor of the experiment",
    ),
    _Option("--agent-task-seconds", "task_seconds", _seconds, "S", "time an agent has for one task (default: 480)"),
    _Option("--agent-context", "context", _integer, "N", "context of a server launched here, in tokens (32768)"),
    _Option(
        "--agent-thinking", "thinking", str, "EFFORT",
        "reasoning effort asked of the model: low, medium or high (default: not sent)",
    ),
    _Option("--agent-abort-loops", "abort_loops", _is_given, "", "end an attempt when a loop is found while it runs"),
    _Option(
        "--agent-order", "order", str, "ORDER",
        "balanced (default: A B for one seed or task, B A for the next), by-seed (for all tasks alike) or blocked (all "
        "of A, then all of B)",
    ),
    _Option(
        "--agent-server-restart", "server_restart", str, "WHEN",
        "attempt (default: a fresh server for each) or mode (one is kept while attempts of its mode follow each other)",
    ),
    _Option(
        "--agent-run-dir", "run_dir", _path, "DIR",
        "folder of this run's records (default: a new one below agentgrade-runs/); one that holds a run resumes it, "
        "and needs no other option",
    ),
    _Option(
        "--agent-draws", "draws", _path, "FILE",
        "file with the key of the checks' random inputs, made if missing: give it to runs that are to be compared",
    ),
    _Option(
        "--agent-exit", "exit", str, "POLICY",
        "pytest (default: failed checks fail the run) or measure (exit code 0 if every attempt was graded)",
    ),
    _Option("--agent-runtime", "runtime", str, "NAME", "container runtime of the Docker engine, for example runsc"),
    _Option("--agent-image", "image", str, "IMAGE", "sandbox image in place of the one that is built here"),
)  # fmt: skip
"""Options that set one field of the settings each."""


_STARTERS = ("agent_mode", "agent_patches", "agent_preset")
"""Destinations of the options that each make a pytest run one that grades."""


def add_options(parser: pytest.Parser) -> None:
    """Register ``--agent-*``; values stay plain text so that they travel to xdist workers."""
    group = parser.getgroup("agentgrade", "coding agents, graded with --agent-mode, --agent-preset or --agent-patches")
    mode = "ways to serve the model that are to be graded: baseline, mtp, and those in agentgrade.toml"
    group.addoption("--agent-mode", metavar="MODE,...", help=mode)
    group.addoption("--agent-preset", metavar="NAME", help="repeat a published experiment: study-2026-10")
    patches = "grade patches made elsewhere, without any model: DIR/TASK.patch or DIR/MODE/TASK-SEED.patch"
    group.addoption("--agent-patches", metavar="DIR", help=patches)
    report = "write the report to FILE at the end; its ending says the format: .html, .md, .json, .csv, .txt or .xml"
    group.addoption("--agent-report", metavar="FILE", help=report)
    for option in _OPTIONS:
        value = {"metavar": option.metavar} if option.metavar else {"action": "store_const", "const": _GIVEN}
        group.addoption(option.flag, dest=_dest(option), help=option.help, **value)


def is_active(config: pytest.Config) -> bool:
    """Whether this pytest run grades anything."""
    return asks_for_grading(config.option)


def asks_for_grading(given: Namespace) -> bool:
    """The same of options that pytest has only begun to read."""
    return any(getattr(given, name) is not None for name in _STARTERS) or recorded_run(given) is not None


def idle_hint(config: pytest.Config) -> list[str]:
    """A line for a user who gave options of ours on the command line, in a call that grades nothing.

    Those of a settings file of pytest's are there for the calls that do.
    """
    ours = {*(option.flag for option in _OPTIONS), "--agent-report"}
    given = [flag for flag in (word.partition("=")[0] for word in config.invocation_params.args) if flag in ours]
    if not given or is_active(config):
        return []
    hint = f"agentgrade: nothing is graded: {', '.join(given)} without --agent-mode, --agent-preset or --agent-patches"
    return [hint + (f"; {config.option.agent_run_dir} holds no run" if "--agent-run-dir" in given else "")]


def recorded_run(given: Namespace) -> Path | None:
    """The run that ``--agent-run-dir`` alone names: then everything else is as recorded there."""
    if given.agent_run_dir is None or any(getattr(given, name) is not None for name in _STARTERS):
        return None
    folder = Path(_path(given.agent_run_dir))
    return folder if (folder / "run.json").is_file() else None


def only_looks(config: pytest.Config) -> bool:
    """Whether pytest shows something and runs no test: then no run is begun."""
    names = ("collectonly", "showfixtures", "show_fixtures_per_test", "cacheshow", "setupplan")
    return any(getattr(config.option, name, False) for name in names)


def mode_names(config: pytest.Config) -> list[str]:
    """Modes asked for, in order; without ``--agent-mode`` the preset's, or one called ``patches``."""
    given = config.getoption("agent_mode")
    if given is not None:
        return _names(given)
    if (folder := recorded_run(config.option)) is not None:
        return list(dict.fromkeys(key.mode for key in _recorded(folder).plan))
    preset = chosen_preset(config)
    return list(preset.modes) if preset and config.getoption("agent_patches") is None else ["patches"]


def chosen_preset(config: pytest.Config) -> Preset | None:
    """The preset asked for; SettingsError when there is none of that name."""
    from pytest_agentgrade.assignment.presets import find_preset

    name = config.getoption("agent_preset")
    return None if name is None else find_preset(name)


def patches_folder(config: pytest.Config) -> Path | None:
    """The folder of ``--agent-patches``."""
    given = config.getoption("agent_patches")
    if (folder := recorded_run(config.option)) is not None:
        given = _recorded(folder).patches
    return None if given is None else Path(_path(given))


def report_file(config: pytest.Config) -> Path | None:
    """The file of ``--agent-report``; SettingsError when no report can be made in its format, or in its folder."""
    if (given := config.getoption("agent_report")) is None:
        return None
    from pytest_agentgrade.places import require_folder
    from pytest_agentgrade.reporting.output import format_of

    file = Path(_path(given))
    require_folder(file, "--agent-report")
    format_of(file)
    return file


def resolve_options(config: pytest.Config) -> Resolved:
    """Settings of this run: defaults, preset, file in rootdir, command line. SettingsError says what is wrong."""
    from pytest_agentgrade.assignment.layers import read_file_layer
    from pytest_agentgrade.assignment.settings import resolve

    if (folder := recorded_run(config.option)) is not None:
        return resolve([_recorded_layer(folder, Path(config.rootpath)), _command_line(config)])
    preset = chosen_preset(config)
    layers = [read_file_layer(Path(config.rootpath)), _command_line(config)]
    resolved = resolve([preset.layer, *layers] if preset else layers)
    if preset and config.getoption("agent_patches") is None:
        preset.require_model(resolved)
    return resolved


def _recorded_layer(folder: Path, rootdir: Path) -> Layer:
    """The settings of a recorded run; keys, which no record holds, come from the settings file again."""
    from pytest_agentgrade.assignment.layers import Layer, read_file_layer
    from pytest_agentgrade.assignment.secrets import HIDDEN, with_secrets

    source, settings = f"{folder.name}/run.json", _recorded(folder).settings
    if HIDDEN not in str(settings):
        return Layer(source, settings)
    return Layer(source, with_secrets(settings, read_file_layer(rootdir), source))


def _recorded(folder: Path) -> RunRecord:
    from pytest_agentgrade.records.store import RunStore

    return RunStore(folder).run()


def _command_line(config: pytest.Config) -> Layer:
    from pytest_agentgrade.assignment.layers import Layer

    values, sources = {}, {}
    for option in _OPTIONS:
        text = config.getoption(_dest(option))
        if text is None:
            continue
        try:
            values[option.field] = option.read(text)
        except ValueError as error:
            raise SettingsError(f"{option.flag}={text} cannot be read", str(error)) from error
        sources[option.field] = option.flag
    return Layer("command line", values, sources)


def _dest(option: _Option) -> str:
    return f"agent_{option.field}"
