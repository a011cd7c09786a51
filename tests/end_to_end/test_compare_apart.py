"""One environment for each mode, as tox runs them, and the comparison of what they left: on a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_agentgrade.cli import EXIT_GATE, main
from tests.graded import QUIET_PLUGINS, Graded, run_pytest

TASK = "csv_ledger"


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Graded]:
    base = tmp_path_factory.mktemp("apart")
    found = {}
    for mode, seeds in (("baseline", "4242,7"), ("mtp", "4242")):
        (base / mode).mkdir()
        found[mode] = run_pytest(
            base / mode, f"--agent-mode={mode}", f"--agent-task={TASK}", f"--agent-seed={seeds}",
            "--agent-task-seconds=40", f"--agent-draws={base / 'draws.key'}", "--agent-server-restart=mode",
            "--agent-exit=measure", "--junitxml=junit.xml", "--tb=no", *QUIET_PLUGINS, seconds=600,
        )  # fmt: skip
    return found


def test_consecutive_attempts_of_one_mode_kept_its_server(environments: dict[str, Graded]) -> None:
    servers = [record.server for record in environments["baseline"].records.values()]
    assert [server.served_before for server in servers if server] == [0, 1]
    assert len({server.url for server in servers if server}) == 1
    assert all(graded.code == 0 for graded in environments.values()), environments["baseline"].output


def test_files_of_two_environments_make_a_proven_blocked_pair(
    environments: dict[str, Graded], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(graded.folder / "junit.xml") for graded in environments.values()]
    merged = tmp_path / "merged.xml"
    assert main(["compare", *files, "--format", "json", "-o", str(merged)]) == 0
    comparison = json.loads(capsys.readouterr().out)["comparisons"][0]
    assert [(pair["status"], pair["order"], pair["missing"]) for pair in comparison["pairs"]] == [
        ("proven", "blocked", [])
    ]
    assert comparison["alone"] == 1
    assert main(["compare", str(merged), "--fail-if", "mtp.not_counted >= 0"]) == EXIT_GATE
    text = " ".join(capsys.readouterr().out.split())
    assert "Pairs: 1 proven, 0 invalid, 0 unproven; 1 attempt without a counted partner." in text
    assert "The modes ran one after the other" in text


def test_folders_say_the_same_as_files(environments: dict[str, Graded], capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for places in (
        [str(graded.folder / "junit.xml") for graded in environments.values()],
        [str(graded.run.folder) for graded in environments.values()],
    ):
        assert main(["compare", *places, "--format", "json"]) == 0
        said.append(json.loads(capsys.readouterr().out))
    assert said[0] == said[1]
