"""Adapters of agents from npm and PyPI: what they tell without running."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.attempt.agents.base import MODEL_URL, Agent, AgentBase, AgentEvent, AgentNeeds
from pytest_agentgrade.attempt.agents.packages import PACKAGES, find_package
from pytest_agentgrade.attempt.agents.registry import BUILT_IN, make_agent, unknown_agent
from pytest_agentgrade.cli import main
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.machine import Machine
from pytest_agentgrade.sandbox.engine import connect
from pytest_agentgrade.sandbox.image import ensure_image


def made(name: str, **settings: Any) -> Agent:
    agent = make_agent(name, Settings.model_validate({"agent": name, **settings}))
    assert agent is not None
    return agent


@pytest.mark.parametrize("name", PACKAGES)
def test_an_agent_of_a_package_runs_in_its_image(name: str) -> None:
    agent, package = made(name), PACKAGES[name]
    assert (agent.name, agent.needs.image) == (name, package.tag)
    assert f"setup --agent {name}" in agent.needs.image_hint
    assert agent.version.startswith(f"{package.version}+")
    assert agent.needs.memory_bytes >= 1 << 30 and agent.needs.home_bytes and agent.needs.kept


@pytest.mark.parametrize("name", PACKAGES)
def test_an_image_of_the_users_takes_its_place(name: str) -> None:
    agent = made(name, agent_image="mine:7")
    assert (agent.needs.image, agent.needs.image_hint) == ("mine:7", "") and "mine:7" in agent.version


@pytest.mark.parametrize("name", BUILT_IN)
def test_files_are_plain_names_and_env_is_text(name: str) -> None:
    agent = made(name, agent_command=["true"])
    assert all("/" not in file and isinstance(data, bytes) for file, data in agent.files().items())
    assert all(isinstance(value, str) for value in agent.env().values()) and agent.command()


def test_unknown_names_come_with_a_suggestion() -> None:
    with pytest.raises(SettingsError) as caught:
        find_package("open-code")
    assert "'opencode'" in caught.value.hint
    assert "'aider'" in unknown_agent("adier").hint
    assert make_agent("adier", Settings.model_validate({})) is None


def test_opencode_is_told_the_run_s_limits_and_nothing_asks() -> None:
    (config,) = made("opencode", context=9_000, response_tokens=[500, 700]).files().values()
    told = json.loads(config)
    assert told["provider"]["local"]["options"]["baseURL"] == MODEL_URL
    assert told["provider"]["local"]["models"]["local"]["limit"] == {"context": 9_000, "output": 700}
    assert "ask" not in told["permission"].values() and told["compaction"]["auto"] is False


TITLE = "You are a title generator. You output ONLY a thread title. Nothing else."
SUMMARY = "*Briefly* summarize this partial conversation about programming.\n"


@pytest.mark.parametrize(
    ("name", "first", "auxiliary"),
    [
        ("opencode", TITLE, True),
        ("opencode", [{"type": "text", "text": TITLE}], True),
        ("opencode", "You are opencode, an interactive CLI tool", False),
        ("aider", SUMMARY, True),
        ("aider", "Act as an expert software developer.", False),
        ("opencode", "You are a context summarization agent. You are given", True),
        ("qwen-code", "\nYou are the component that summarizes internal chat history into", True),
        ("qwen-code", "You are Qwen Code, an interactive CLI agent", False),
        ("mini-swe-agent", SUMMARY, False),
        ("toolloop", TITLE, False),
    ],
)
def test_requests_beside_the_task_are_recognised(name: str, first: object, auxiliary: bool) -> None:
    request = {"messages": [{"role": "system", "content": first}, {"role": "user", "content": "x"}]}
    assert made(name).is_auxiliary(request) is auxiliary
    assert made(name).is_auxiliary({"messages": []}) is False
    assert made(name).is_auxiliary({"messages": ["odd", {"content": TITLE}]}) is False
    later = {"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": first}]}
    assert made(name).is_auxiliary(later) is False, "what the model has read or written says nothing"


def step(reason: str) -> dict[str, Any]:
    return {"type": "step_finish", "part": json.dumps({"type": "step-finish", "reason": reason})}


@pytest.mark.parametrize(
    ("name", "events", "finished"),
    [
        ("opencode", [], None),
        ("opencode", [step("tool-calls"), step("stop")], True),
        ("opencode", [step("stop"), step("length")], False),
        ("mini-swe-agent", [], None),
        ("mini-swe-agent", [{"event": "end", "exit_status": "Submitted"}], True),
        ("mini-swe-agent", [{"event": "end", "exit_status": "RepeatedFormatError"}], False),
        ("qwen-code", [{"type": "result", "subtype": "success", "result": "[API Error: 404 over]"}], False),
        ("qwen-code", [{"type": "result", "subtype": "success", "result": "Done."}], None),
        ("aider", [{"odd": 1}], None),
    ],
)
def test_events_tell_whether_the_model_said_it_was_done(
    name: str, events: list[Mapping[str, Any]], finished: bool | None
) -> None:
    assert made(name).finished([AgentEvent(1.0, event) for event in events]) is finished


def test_setup_knows_the_agents_it_can_make(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["setup", "--agent", "opncode"]) == 2
    assert "did you mean 'opencode'?" in capsys.readouterr().err


@dataclass(frozen=True)
class Elsewhere(AgentBase):
    """An agent that runs in an image of its own."""

    wanted: AgentNeeds
    name: str = "elsewhere"
    version: str = "1"
    needs_tools: bool = False

    @property
    def needs(self) -> AgentNeeds:
        return self.wanted

    def command(self) -> tuple[str, ...]:
        return ("true",)


def test_an_image_that_is_missing_is_told_with_what_to_do() -> None:
    client = connect()
    sandbox = ensure_image(client)
    machine = cast(Machine, SimpleNamespace(client=client, image=sandbox, log=print))
    try:
        assert Machine.agent_image(machine, Elsewhere(AgentNeeds())) == sandbox
        assert Machine.agent_image(machine, Elsewhere(AgentNeeds(image=sandbox.tag))).id == sandbox.id
        with pytest.raises(SettingsError, match="agent elsewhere: its image agentgrade-agent:none") as caught:
            Machine.agent_image(machine, Elsewhere(AgentNeeds(image="agentgrade-agent:none", image_hint="make it")))
        assert caught.value.hint == "make it"
    finally:
        client.close()
