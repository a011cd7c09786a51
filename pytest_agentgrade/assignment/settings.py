"""Settings: defaults, then a file, then the command line; each value remembers where it came from."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from pytest_agentgrade.assignment.layers import DEMO_MODEL, Layer
from pytest_agentgrade.assignment.mode import Mode, settle_placebos
from pytest_agentgrade.assignment.secrets import HIDDEN, without_secrets
from pytest_agentgrade.assignment.wanted import wanted
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.escaping import escape

DEFAULT_SOURCE = "default"
EMBEDDED = "embedded"
"""The value of ``server`` that stands for llama.cpp's server inside a child process."""
_CHARACTERS = 200
"""Of a value in a message."""
VERSION_FORM = r"^[0-9][A-Za-z0-9.+-]*$"
"""What the version of a package looks like."""

BUILT_IN_MODES: Mapping[str, Mapping[str, Any]] = {
    "baseline": {"server_args": ["--spec-type", "none"], "speculates": False},
    "mtp": {"server_args": ["--spec-type", "draft-mtp", "--spec-draft-n-max", "3"], "speculates": True},
}
"""The two modes of the study; a mode of the same name in the settings replaces it whole."""


def _one_or_many(value: object) -> object:
    return value if isinstance(value, list) else [value]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Sampling(_Model):
    """What the proxy forces on every request; ``min_p`` included, whose default differs between servers."""

    temperature: float = Field(1.0, ge=0.0, le=5.0)
    top_p: float = Field(0.95, gt=0.0, le=1.0)
    top_k: int = Field(20, ge=0)
    min_p: float = Field(0.0, ge=0.0, lt=1.0)


class ModeSettings(_Model):
    """One ``[modes.NAME]`` table; see :class:`~pytest_agentgrade.assignment.mode.Mode` for the fields."""

    server_args: list[str] = Field(default_factory=list)
    model: str | None = None
    server: str | None = None
    speculates: bool | None = None
    lossless: bool = True
    placebo_of: str | None = None


Seed = Annotated[int, Field(ge=0, lt=2**31)]


class Settings(_Model):
    """Everything a run can be told. Sizes in tokens, bytes or seconds as named."""

    model: str = DEMO_MODEL
    """``demo``, or the path of a GGUF file."""
    server: str = EMBEDDED
    """``embedded``, the path of a llama-server binary, or an http(s) URL."""
    server_args: list[str] = Field(default_factory=list)
    """llama-server flags common to all modes."""
    context: int = Field(32_768, ge=512)
    """Context size in tokens, ``-c``."""
    server_seconds: float = Field(600.0, gt=0)
    """How long a server may take until it is ready."""
    server_restart: Literal["attempt", "mode"] = "attempt"
    """Launch the server anew for every attempt, or keep it while consecutive attempts share the mode."""
    device: str = Field("0", pattern=r"^[A-Za-z0-9_.-]+$")
    """Name of the device the server runs on: servers of one device run one at a time."""
    seeds: list[Seed] = Field(default_factory=lambda: [4242, 8675309], min_length=1)
    repeats: int = Field(1, ge=1, le=1000)
    response_tokens: Annotated[list[Annotated[int, Field(ge=1)]], BeforeValidator(_one_or_many)] = Field(
        default_factory=lambda: [8192], min_length=1
    )
    """Token cap of one response; several caps make the budget a factor of the experiment."""
    task_seconds: float = Field(480.0, gt=0)
    """The task clock."""
    turns: int = Field(100, ge=1)
    """Requests an agent may make in one attempt."""
    agent: str = Field("toolloop", pattern=r"^[A-Za-z0-9_.-]+$")
    """Which agent edits the workspace: a built-in one, or one that a plugin brings."""
    agent_command: list[str] = Field(default_factory=list)
    """Program and arguments of the agent ``command``."""
    agent_env: dict[str, str] = Field(default_factory=dict)
    """Environment of the agent ``command``."""
    agent_version: str | None = Field(None, pattern=VERSION_FORM)
    """Version of an agent from npm or PyPI, in place of the one that its adapter was tried with."""
    agent_image: str | None = None
    """Image for an agent that has one of its own, in place of it; ``toolloop`` and ``single`` use ``image``."""
    agent_tools: bool = False
    """Whether the agent ``command`` needs a model that can call tools."""
    sampling: Sampling = Field(default_factory=lambda: Sampling.model_validate({}))
    thinking: Literal["low", "medium", "high"] | None = None
    """Sent as ``reasoning_effort`` with every request; not sent when not given."""
    abort_loops: bool = False
    """End an attempt when a loop is found while it runs; its time and tokens are lower bounds then."""
    order: Literal["balanced", "by-seed", "blocked"] = "balanced"
    tasks: list[str] | None = None
    """Names of the tasks to run; all when not given."""
    tasks_dir: str | None = None
    """Folder with task fixtures in place of the ones found or bundled."""
    checks_dir: str | None = None
    """Folder with hidden checks in place of the ones found or bundled."""
    image: str | None = None
    """Sandbox image to use in place of the one built here."""
    runtime: str | None = None
    """Container runtime, for example ``runsc``."""
    run_dir: str | None = None
    """Folder of this run; resumed when it exists."""
    draws: str | None = None
    """File with the key of the checks' random inputs, made when it is not there: runs that share it can be paired."""
    exit: Literal["pytest", "measure"] = "pytest"
    """``measure``: exit 0 when every attempt was graded, whatever the score."""
    modes: dict[str, ModeSettings] = Field(default_factory=dict)

    def all_modes(self) -> dict[str, Mode]:
        """Every mode by name, the built-in ones included."""
        tables = {name: ModeSettings.model_validate(table) for name, table in BUILT_IN_MODES.items()} | self.modes
        return settle_placebos({name: _mode(name, table) for name, table in tables.items()})

    def pick_modes(self, names: Iterable[str], new: Callable[[str], Mode] | None = None) -> tuple[Mode, ...]:
        """The named modes in that order, unknown ones from ``new``. SettingsError for an unknown or repeated name."""
        known, picked = self.all_modes(), list(names)
        for name in picked:
            if name not in known and new is not None:
                known[name] = new(name)
            elif name not in known:
                raise SettingsError(f"unknown mode {name!r}", suggest(name, known))
        if not any(picked):
            raise SettingsError("--agent-mode= names no mode", "such as --agent-mode=baseline,mtp")
        if len(set(picked)) != len(picked):
            raise SettingsError(f"--agent-mode={','.join(picked)} names a mode twice", "name each mode once")
        return tuple(known[name] for name in picked)


@dataclass(frozen=True)
class Resolved:
    """Settings, and where each value came from."""

    settings: Settings
    sources: Mapping[str, str]
    """Field name -> ``default``, a file name, or an option."""


def resolve(layers: Iterable[Layer]) -> Resolved:
    """Merge layers, later ones winning key by key. SettingsError names key, value, source and a suggestion."""
    merged: dict[str, Any] = {}
    owners: dict[str, Layer] = {}
    sources = dict.fromkeys(Settings.model_fields, DEFAULT_SOURCE)
    for layer in layers:
        for key, value in layer.items():
            if key == "tool" and key not in Settings.model_fields:
                hint = "here the names stand alone: `model = ...` and `[modes.NAME]`, without `tool.agentgrade`"
                raise SettingsError(f"{layer.place([key])}: [tool.agentgrade] is for pyproject.toml", hint)
            if key not in Settings.model_fields:
                raise SettingsError(f"{layer.place([key])}: unknown setting {key!r}", _place_of(key))
            merged[key] = value
            owners[key] = layer
            sources[key] = layer.per_key.get(key, layer.source)
    try:
        settings = Settings.model_validate(merged)
    except ValidationError as error:
        raise _settings_error(error, owners) from error
    settings.all_modes()
    return Resolved(settings, sources)


def is_url(server: str) -> bool:
    """Whether a ``server`` is one that runs already."""
    return server.lower().startswith(("http://", "https://"))


def suggest(word: str, known: Iterable[str]) -> str:
    """``did you mean 'x'?`` where something is near, else the list of what is known."""
    names = sorted(known)
    near = difflib.get_close_matches(word, names, 1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}"


def _place_of(key: str) -> str:
    """What to write in place of a key that is no setting."""
    inside: dict[str, type[BaseModel]] = {"sampling": Sampling, "modes.NAME": ModeSettings}
    for table, model in inside.items():
        if key in model.model_fields:
            return f"it belongs into [{table}]"
    return suggest(key, Settings.model_fields)


def _mode(name: str, table: ModeSettings) -> Mode:
    return Mode(name, **{**table.model_dump(), "server_args": tuple(table.server_args)})


def _settings_error(error: ValidationError, owners: Mapping[str, Layer]) -> SettingsError:
    first = error.errors(include_url=False)[0]
    where = [str(part) for part in first["loc"]]
    owner = owners.get(where[0])
    source = DEFAULT_SOURCE if owner is None else owner.place(where)
    if first["type"] == "extra_forbidden":
        known = (Sampling if where[0] == "sampling" else ModeSettings).model_fields
        return SettingsError(f"{source}: unknown key {'.'.join(where)!r}", suggest(where[-1], known))
    name = ".".join(part for part in where if not part.isdecimal())
    what = f"{source}: {name} = {_shown(name, first['input'])} cannot be used"
    return SettingsError(what, wanted(first["type"], first.get("ctx", {}), name, _example(name)))


def _shown(name: str, value: object) -> str:
    """A value that cannot be used, as it was written, but no key."""
    if "agent_env" in name:
        return HIDDEN
    if "server_args" in name and isinstance(value, str):
        value = " ".join(without_secrets(value.split()))
    return escape(repr(value), _CHARACTERS)


def _example(name: str) -> str:
    """``, such as 8192``: the default, where that is a number or begins with one."""
    field = Settings.model_fields.get(name)
    default = None if field is None else field.get_default(call_default_factory=True)
    example = default[0] if isinstance(default, list) and default else default
    return f", such as {example:g}" if isinstance(example, int | float) else ""
