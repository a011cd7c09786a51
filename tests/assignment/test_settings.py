from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from pydantic import BaseModel

from pytest_agentgrade.assignment.layers import Layer, read_file_layer
from pytest_agentgrade.assignment.settings import ModeSettings, Sampling, Settings, resolve
from pytest_agentgrade.errors import SettingsError


def test_defaults_are_the_studys_where_it_has_one() -> None:
    settings = resolve([]).settings
    assert (settings.seeds, settings.response_tokens, settings.task_seconds) == ([4242, 8675309], [8192], 480.0)
    sampling = settings.sampling
    assert (sampling.temperature, sampling.top_p, sampling.top_k, sampling.min_p) == (1.0, 0.95, 20, 0.0)


def test_a_later_layer_wins_and_every_value_knows_its_source() -> None:
    file = Layer("agentgrade.toml", {"task_seconds": 60, "seeds": [1]})
    line = Layer("command line", {"seeds": [2, 3]}, {"seeds": "--agent-seed"})
    resolved = resolve([file, line])
    assert resolved.settings.seeds == [2, 3] and resolved.settings.task_seconds == 60
    picked = {name: resolved.sources[name] for name in ("seeds", "task_seconds", "context")}
    assert picked == {"seeds": "--agent-seed", "task_seconds": "agentgrade.toml", "context": "default"}


def test_own_file_comes_before_pyproject(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.agentgrade]\ncontext = 1024\n")
    assert read_file_layer(tmp_path) == {"context": 1024}
    assert read_file_layer(tmp_path).source == "pyproject.toml"
    (tmp_path / "agentgrade.toml").write_text("context = 2048\n")
    assert read_file_layer(tmp_path) == {"context": 2048}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"task_second": 5}, r"t: unknown setting 'task_second' - did you mean 'task_seconds'\?"),
        ({"task_seconds": -5}, r"t: task_seconds = -5 cannot be used"),
        ({"seeds": []}, r"t: seeds = \[\] cannot be used - write at least one value"),
        ({"seeds": ["a"]}, r"t: seeds = 'a' cannot be used - write a whole number, such as 4242"),
        ({"seeds": [True]}, r"t: seeds = True cannot be used"),
        ({"seeds": [2**31]}, r"t: seeds = 2147483648 cannot be used - write less than 2147483648"),
        ({"response_tokens": [0]}, r"t: response_tokens = 0 cannot be used - write 1 or more"),
        ({"response_tokens": "4k"}, r"t: response_tokens = '4k' cannot be used - write a whole number, such as 8192"),
        ({"abort_loops": "yes"}, r"t: abort_loops = 'yes' cannot be used - write true or false"),
        ({"order": "random"}, r"t: order = 'random' cannot be used - write 'balanced', 'by-seed' or 'blocked'"),
        ({"temperature": 1.0}, r"t: unknown setting 'temperature' - it belongs into \[sampling\]"),
        ({"speculates": True}, r"t: unknown setting 'speculates' - it belongs into \[modes.NAME\]"),
        ({"sampling": {"top_q": 1.0}}, r"t: unknown key 'sampling.top_q' - did you mean 'top_p'\?"),
        ({"sampling": {"temperature": float("nan")}}, r"t: sampling.temperature = nan cannot be used"),
        ({"modes": {"x": {"server_arg": []}}}, r"t: unknown key 'modes.x.server_arg' - did you mean 'server_args'\?"),
        ({"task_seconds": float("inf")}, r"t: task_seconds = inf cannot be used - write a finite number, such as 480"),
        ({"device": "../0"}, r"t: device = '../0' cannot be used - write a name of letters, digits"),
        ({"agent_version": "new"}, r"agent_version = 'new' cannot be used - write a version that begins with a digit"),
        ({"modes": {"x": "fast"}}, r"t: modes.x = 'fast' cannot be used - write a table: { name = value }"),
        ({"server_args": "--api-key sk-1"}, r"t: server_args = '--api-key \(hidden\)' cannot be used - write a list"),
        ({"agent": "a b"}, r"t: agent = 'a b' cannot be used"),
        ({"modes": {"No Good": {}}}, r"mode name 'No Good' is not made of"),
    ],
)
def test_a_bad_value_is_named_with_its_place_and_a_remedy(values: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        resolve([Layer("t", values)])


def test_broken_toml_is_the_users_error(tmp_path: Path) -> None:
    (tmp_path / "agentgrade.toml").write_text("context = \n")
    with pytest.raises(SettingsError, match=r"cannot read .*agentgrade\.toml"):
        read_file_layer(tmp_path)


def test_a_single_budget_may_be_written_as_a_number() -> None:
    assert resolve([Layer("t", {"response_tokens": 100})]).settings.response_tokens == [100]


def test_nothing_is_aborted_unless_asked_for() -> None:
    assert resolve([]).settings.abort_loops is False
    assert resolve([Layer("t", {"abort_loops": True})]).settings.abort_loops is True


def test_built_in_modes_say_what_they_promise() -> None:
    modes = Settings.model_validate({}).all_modes()
    assert modes["baseline"].speculates is False and modes["mtp"].speculates is True
    assert modes["mtp"].server_args == ("--spec-type", "draft-mtp", "--spec-draft-n-max", "3")


def test_own_modes_stand_beside_the_built_in_ones_or_replace_them() -> None:
    settings = resolve([Layer("t", {"modes": {"q4": {"model": "q4.gguf"}, "mtp": {"server_args": ["-x"]}}})]).settings
    assert set(settings.all_modes()) == {"baseline", "mtp", "q4"}
    assert settings.all_modes()["mtp"].server_args == ("-x",) and settings.all_modes()["mtp"].speculates is None


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["mpt"], r"unknown mode 'mpt' - did you mean 'mtp'\?"),
        ([], "names no mode"),
        (["mtp", "mtp"], "names a mode twice"),
    ],
)
def test_modes_are_picked_by_name(names: list[str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Settings.model_validate({}).pick_modes(names)


def test_relative_paths_in_a_file_are_meant_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "agentgrade.toml").write_text(
        'model = "a b.gguf"\nserver = "bin/llama-server"\n'
        '[modes.x]\nmodel = "~/x.gguf"\nserver = "http://127.0.0.1:1"\n'
        '[modes.y]\nmodel = "ü.gguf"\nserver = "llama-server"'
    )
    settings = resolve([read_file_layer(tmp_path)]).settings
    assert (settings.model, settings.server) == (str(tmp_path / "a b.gguf"), str(tmp_path / "bin/llama-server"))
    assert (settings.modes["x"].model, settings.modes["x"].server) == ("~/x.gguf", "http://127.0.0.1:1")
    assert (settings.modes["y"].model, settings.modes["y"].server) == (str(tmp_path / "ü.gguf"), "llama-server")


def test_a_file_with_values_of_a_wrong_type_is_the_users_error(tmp_path: Path) -> None:
    (tmp_path / "agentgrade.toml").write_text("model = 5\nmodes = [1]\n")
    with pytest.raises(SettingsError, match=r"agentgrade\.toml, line 1: model = 5 cannot be used"):
        resolve([read_file_layer(tmp_path)])


def test_a_placebo_has_all_of_its_mode_and_its_own_flags_behind() -> None:
    table = {"ub256": {"placebo_of": "mtp", "server_args": ["-ub", "256"]}}
    found = resolve([Layer("t", {"modes": table})]).settings.all_modes()["ub256"]
    assert found.server_args == ("--spec-type", "draft-mtp", "--spec-draft-n-max", "3", "-ub", "256")
    assert (found.speculates, found.placebo_of) == (True, "mtp")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"placebo_of": "mpt", "server_args": ["-ub", "256"]}, "names no mode .* - name one of: baseline, mtp"),
        ({"placebo_of": "x", "server_args": ["-ub", "256"]}, "names no mode"),
        ({"placebo_of": "mtp"}, "changes nothing - .*determinism test"),
        ({"placebo_of": "mtp", "model": "q4.gguf"}, "a model of its own: that is no placebo"),
    ],
)
def test_what_is_no_placebo_is_refused(table: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        resolve([Layer("t", {"modes": {"x": table}})])


ODD: tuple[object, ...] = (None, True, -5, 1.5, "x y", "", [], [None], [[1]], {}, {"a": 1}, {"a": {"b": 1}})


@pytest.mark.parametrize("model", [Settings, Sampling, ModeSettings])
def test_no_message_is_in_the_words_of_the_library_that_checks(model: type[BaseModel]) -> None:
    """pydantic says ``Input should be a valid dictionary``; what helps is what to write."""
    said = []
    for name, odd in product(model.model_fields, ODD):
        table: dict[str, object] = {name: odd}
        inside = {Settings: table, Sampling: {"sampling": table}, ModeSettings: {"modes": {"m": table}}}
        try:
            resolve([Layer("t", inside[model])])
        except SettingsError as error:
            said.append(str(error))
    assert len(said) > 20
    assert [line for line in said if "should" in line or "valid" in line or " - " not in line] == []


def test_a_bad_value_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nseeds = "not ours"\n\n[tool.agentgrade]\ncontext = 4096\nseeds = [\n  1,\n  "two",\n]\n'
    )
    with pytest.raises(SettingsError, match=r"^pyproject\.toml, line 6: seeds = 'two' cannot be used"):
        resolve([read_file_layer(tmp_path)])
    (tmp_path / "agentgrade.toml").write_text("context = 4096\n\n[modes.mtp]\nserver_args = []\nspeculates = 1\n")
    with pytest.raises(SettingsError, match=r"^agentgrade\.toml, line 5: modes\.mtp\.speculates = 1 cannot be used"):
        resolve([read_file_layer(tmp_path)])
