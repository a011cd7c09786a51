"""Nothing is ever pulled: an image that is not there is an error that says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import docker
import pytest

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.sandbox.container import Container, ContainerSpec
from pytest_agentgrade.sandbox.owner import Owner
from tests.graded import PROJECT, QUIET_PLUGINS, Graded, run_pytest, write_settings

from .specimen import BASELINE

TASK = "csv_ledger"
MISSING = "localhost:1/agentgrade-nothing:1"


def graded(folder: Path, settings: str) -> Graded:
    """One check on an untouched workspace, with every request to the engine on record."""
    write_settings(folder, settings)
    (folder / "patches").mkdir()
    (folder / "patches" / f"{TASK}.patch").write_text("--- /dev/null\n+++ b/NOTES.md\n@@ -0,0 +1 @@\n+Nothing.\n")
    return run_pytest(
        folder, "--agent-patches=patches", f"--agent-task={TASK}", "--agent-seed=1", "-k", BASELINE[TASK],
        "--tb=short", "-p", "tests.hostile.recording", *QUIET_PLUGINS, env={"PYTHONPATH": str(PROJECT)},
    )  # fmt: skip


def pulls(folder: Path) -> list[str]:
    """Requests that would have the engine fetch something. An image made here comes with ``fromSrc``."""
    requests = (folder / "requests.txt").read_text().splitlines()
    assert any("/containers/" in line or "/images/" in line for line in requests)
    return [line for line in requests if "fromImage" in line or "/auth" in line or "/distribution/" in line]


def test_a_run_asks_the_engine_for_no_image_from_elsewhere(tmp_path: Path) -> None:
    done = graded(tmp_path, "")
    assert done.code == 0 and [record.passed for record in done.records.values()] == [1], done.output
    assert pulls(tmp_path) == []
    assert "POST" in (tmp_path / "requests.txt").read_text()


def test_a_run_with_an_image_that_is_not_there_says_so_and_pulls_nothing(tmp_path: Path) -> None:
    done = graded(tmp_path, f'image = "{MISSING}"\n')
    assert done.code == 4 and not (tmp_path / "agentgrade-runs").exists(), "refused before anything starts"
    assert f"`docker pull {MISSING}`" in done.output.replace("\n", " ")
    assert pulls(tmp_path) == []


def test_a_container_of_a_missing_image_is_refused_by_name(
    client: docker.DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    api: Any = client.api
    send = api.send
    monkeypatch.setattr(api, "send", lambda request, **more: asked.append(request.path_url) or send(request, **more))
    with pytest.raises(HostError, match=rf"{MISSING}.* - run `agentgrade setup`"):
        Container.create(client, ContainerSpec(MISSING, ("true",), "test"), Owner.current(), "no-pull")
    assert [path.split("/")[2].split("?")[0] for path in asked] == ["containers"]
