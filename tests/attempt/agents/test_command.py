"""The agent ``command``: what its settings become."""

from __future__ import annotations

import pytest

from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.attempt.agents.command import CommandAgent, fill
from pytest_agentgrade.errors import SettingsError


def settings(**values: object) -> Settings:
    return Settings.model_validate(values)


def test_placeholders_are_filled_in() -> None:
    made = CommandAgent.from_settings(
        settings(agent_command=["a", "--url={endpoint}", "{prompt_file}"], agent_env={"W": "{workspace}:{model}"})
    )
    assert made.command() == ("a", "--url=http://127.0.0.1:8080/v1", "/exchange/prompt.md")
    assert made.env() == {"W": "/work:local"} and not made.needs_tools and made.needs.image is None


def test_image_and_tools_are_the_users() -> None:
    made = CommandAgent.from_settings(settings(agent_command=["a"], agent_image="mine:1", agent_tools=True))
    assert made.needs.image == "mine:1" and made.needs_tools


@pytest.mark.parametrize(
    ("text", "filled"), [("{{x}}", "{x}"), ("{{{model}}}", "{local}"), ("{{model}}", "{model}"), ("{ }", "{ }")]
)
def test_braces(text: str, filled: str) -> None:
    assert fill(text, "agent_command") == filled


@pytest.mark.parametrize("values", [{}, {"agent_command": []}])
def test_a_command_is_needed(values: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="agent_command"):
        CommandAgent.from_settings(settings(**values))


def test_an_unknown_placeholder_is_told() -> None:
    with pytest.raises(SettingsError, match=r"unknown placeholder \{endpont\}") as caught:
        fill("{endpont}", "agent_command")
    assert "'endpoint'" in caught.value.hint


def test_another_command_is_another_version() -> None:
    versions = {CommandAgent(("a", word), env).version for word in "bc" for env in ({}, {"X": "1"})}
    assert len(versions) == 4


def test_a_version_holds_no_key() -> None:
    version = CommandAgent(("a", "--api-key=sk-1234567"), {"B_TOKEN": "tk-1234567", "C": "shown"}).version
    assert version == "a --api-key=(hidden) [('B_TOKEN', '(hidden)'), ('C', 'shown')]"
