from __future__ import annotations

import pytest

from pytest_agentgrade.assignment.secrets import (
    hidden_settings,
    hide,
    is_secret_variable,
    secret_values,
    secret_variables,
    secrets_of_settings,
    with_secrets,
    without_secrets,
)
from pytest_agentgrade.errors import SettingsError

KEY = "sk-12345"


@pytest.mark.parametrize("flag", ["--api-key", "--hf-token", "-hft", "--mcp-password", "--API-KEY"])
def test_the_value_behind_such_a_flag_is_hidden(flag: str) -> None:
    args = ["-ngl", "99", flag, KEY, "-fa", "on"]
    assert without_secrets(args) == ["-ngl", "99", flag, "(hidden)", "-fa", "on"]
    assert without_secrets([f"{flag}={KEY}"]) == [f"{flag}=(hidden)"]
    assert secret_values(args) == secret_values([f"{flag}={KEY}"]) == (KEY,)


def test_hiding_twice_is_hiding_once() -> None:
    args = without_secrets(["--api-key", "-1", "--api-key", "--api-key", "--hf-token"])
    assert args == ["--api-key", "(hidden)", "--api-key", "(hidden)", "--hf-token"] == without_secrets(args)


def test_what_only_looks_like_a_key_is_shown() -> None:
    args = ["--api-key-file", "/k", "--ssl-key-file", "/s", "-ctk", "q8_0", "--cache-type-k", "f16", "-k", "1"]
    args += ["--image-max-tokens", "9", "--keep", "4"]
    assert without_secrets(args) == args and secret_values(args) == ()


def test_each_of_several_keys_is_known_alone() -> None:
    assert secret_values(["--api-key", "first,second,x"]) == ("first,second,x", "second", "first")


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "HF_TOKEN", "key", "DB_PASSWORD", "LLAMA_API_KEY"])
def test_names_of_variables_that_hold_keys(name: str) -> None:
    assert is_secret_variable(name) and not is_secret_variable(f"{name}_FILE")


def test_settings_are_hidden_and_come_back_from_the_file() -> None:
    mode = {"server": f"http://me:{KEY}@h:1/", "server_args": ["--hf-token", KEY], "model": None}
    file = {"server_args": ["--api-key", KEY], "agent_env": {"A_KEY": KEY, "B": "b"}, "modes": {"m": mode}}
    recorded = hidden_settings({**file, "context": 5})
    assert KEY not in str(recorded) and recorded["agent_env"]["B"] == "b" and recorded["context"] == 5
    assert hidden_settings(recorded) == recorded
    back = with_secrets(recorded, file, "run.json")
    assert back["server_args"] == file["server_args"] and back["agent_env"] == file["agent_env"]
    assert back["modes"]["m"]["server_args"] == ["--hf-token", KEY]


def test_the_words_of_an_agents_command_are_hidden_too() -> None:
    given = {"agent_command": ["my-agent", "--api-key", KEY, "{prompt_file}"]}
    recorded = hidden_settings(given)
    assert recorded["agent_command"] == ["my-agent", "--api-key", "(hidden)", "{prompt_file}"]
    assert with_secrets(recorded, given, "run.json") == given


def test_all_keys_of_settings_are_known() -> None:
    settings = {
        "server_args": ["--api-key", "of-all,of-one"], "agent_command": ["a", "--token=of-agent"], "model": "m",
        "agent_env": {"A_KEY": "of-environment", "NAME": "shown", "B_KEY": "abc"},
        "modes": {"m": {"server_args": ["--hf-token", "of-mode"]}, "n": {"server_args": None}},
    }  # fmt: skip
    found = secrets_of_settings(settings)
    assert set(found) == {"of-all,of-one", "of-all", "of-one", "of-agent", "of-environment", "of-mode"}
    assert found[0] == "of-environment" and hide("of-all,of-one of-mode shown", found) == "(hidden) (hidden) shown"
    assert secrets_of_settings({}) == ()
    assert secret_variables({"X_TOKEN": "1234", "Y_TOKEN": "12345", "Z": "123456"}) == ("12345", "1234")


@pytest.mark.parametrize("file", [{}, {"server_args": ["--hf-token", KEY]}, {"server_args": 5}])
def test_a_key_that_the_file_does_not_have_is_asked_for(file: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=r"run\.json: server_args held a key, which is never stored - resume where"):
        with_secrets({"server_args": ["--api-key", "(hidden)"]}, file, "run.json")
