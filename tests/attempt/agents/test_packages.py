"""Packages of agents: versions, locks and the names of their images."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_agentgrade.assignment.layers import Layer
from pytest_agentgrade.assignment.settings import Settings, resolve
from pytest_agentgrade.attempt.agents import packages
from pytest_agentgrade.attempt.agents.installing import installed_packages
from pytest_agentgrade.attempt.agents.packages import LOCKS, PACKAGES, Registry, find_package
from pytest_agentgrade.attempt.agents.registry import BUILT_IN, make_agent
from pytest_agentgrade.cli import main
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.sandbox.engine import connect
from pytest_agentgrade.sandbox.image import ensure_image


def settings(**values: Any) -> Settings:
    return Settings.model_validate(values)


def test_the_images_name_depends_on_all_that_goes_in(monkeypatch: pytest.MonkeyPatch) -> None:
    package = PACKAGES["opencode"]
    others = [replace(package, version="1.0.0"), replace(package, pins=()), replace(package, needs_node=True)]
    names = {package.tag, *(other.tag for other in others)}
    monkeypatch.setattr(packages, "RECIPE", packages.RECIPE + 1)
    assert len(names | {package.tag}) == 5


def test_the_images_name_depends_on_the_lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = find_package("mini-swe-agent").tag
    monkeypatch.setattr(packages, "LOCKS", tmp_path)
    unlocked = find_package("mini-swe-agent").tag
    (tmp_path / "mini-swe-agent.txt").write_text("rich==1.0\n")
    assert len({before, unlocked, find_package("mini-swe-agent").tag}) == 3


@pytest.mark.parametrize("path", sorted(LOCKS.iterdir()), ids=lambda path: path.stem)
def test_a_lock_is_exact_and_made_for_the_version_tried(path: Path) -> None:
    package = find_package(path.stem)
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    assert head.startswith(f"# {package.package} {package.tried} ") and package.registry is Registry.PYPI
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line) for line in lines) and len(lines) > 20
    assert f"{package.package}=={package.version}" in lines and package.lock == path
    assert package.at("9.9").lock is None, "another version needs other packages"


@pytest.mark.parametrize("name", PACKAGES)
def test_a_version_can_be_chosen(name: str) -> None:
    chosen, tried = make_agent(name, settings(agent=name, agent_version="9.8.7")), make_agent(name, settings())
    assert chosen is not None and tried is not None
    assert chosen.version.startswith("9.8.7+") and chosen.version != tried.version
    assert chosen.needs.image != tried.needs.image
    assert f"setup --agent {name} --agent-version 9.8.7`" in chosen.needs.image_hint
    assert f"setup --agent {name}`" in tried.needs.image_hint


@pytest.mark.parametrize("name", sorted(set(BUILT_IN) - set(PACKAGES)))
def test_other_agents_have_no_version_to_choose(name: str) -> None:
    with pytest.raises(SettingsError, match=f"agent {name} has no version to choose .* opencode"):
        make_agent(name, settings(agent=name, agent_version="1.0", agent_command=["true"]))


def test_an_image_of_ones_own_says_its_version_itself() -> None:
    with pytest.raises(SettingsError, match="agent_image says which version runs"):
        make_agent("opencode", settings(agent="opencode", agent_version="1.0", agent_image="mine:7"))


@pytest.mark.parametrize("version", ["latest", "^1.2", "1.0 --registry=http://x", "", "@1"])
def test_what_is_no_version_is_refused(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SettingsError, match="agent_version"):
        resolve([Layer("test", {"agent_version": version})])
    assert main(["setup", "--agent", "opencode", f"--agent-version={version}"]) == 2
    assert "is no version of opencode" in capsys.readouterr().err


def test_setup_wants_an_agent_with_a_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["setup", "--agent-version", "1.0"]) == 2
    assert "say which agent" in capsys.readouterr().err


def test_an_image_that_is_not_an_agents_lists_no_packages() -> None:
    client = connect()
    try:
        assert installed_packages(client, ensure_image(client).id) == ()
    finally:
        client.close()
