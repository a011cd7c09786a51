"""``agentgrade doctor``: the modes that the settings know, and the agent they name."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentgrade import diagnosis
from tests.scripted_server import SCRIPTS, ScriptedServer

URL = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine has is looked at in tests/sandbox/test_doctor.py."""
    monkeypatch.setattr(diagnosis, "checks", lambda *_: [])


def marks(lines: list[str]) -> dict[str, str]:
    return {line[4:].split("  ")[0].strip(): line[:2] for line in lines if line[:2] in ("ok", "NO", "--")}


def test_all_modes_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "agentgrade.toml").write_text('[modes.q4]\nmodel = "/none.gguf"\n')
    lines, healthy = diagnosis.diagnose(tmp_path)
    assert marks(lines) == {
        "tasks": "ok",
        "agent toolloop": "ok",
        "mode baseline": "ok",
        "mode mtp": "ok",
        "mode q4": "NO",
    }
    assert not healthy
    assert diagnosis.diagnose(tmp_path, ["mtp"])[1]


def test_built_in_modes_that_do_not_fit_are_no_fault_beside_ones_own(tmp_path: Path) -> None:
    (tmp_path / "agentgrade.toml").write_text(f'server = "{URL}"\n[modes.mine]\n')
    lines, healthy = diagnosis.diagnose(tmp_path)
    assert healthy and marks(lines)["mode mine"] == "ok"
    assert marks(lines)["mode baseline"] == marks(lines)["mode mtp"] == "--"
    assert any(line.endswith(f"server {URL}") for line in lines), "a model is the server's own business"
    assert not diagnosis.diagnose(tmp_path, ["mtp"])[1], "who asks for it wants it"


def test_without_modes_of_ones_own_the_built_in_ones_must_work(tmp_path: Path) -> None:
    (tmp_path / "agentgrade.toml").write_text(f'server = "{URL}"\n')
    assert not diagnosis.diagnose(tmp_path)[1]


def test_settings_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    (tmp_path / "agentgrade.toml").write_text("contxt = 1\n")
    lines, healthy = diagnosis.diagnose(tmp_path)
    assert not healthy and any("did you mean 'context'?" in line for line in lines)


def test_an_agent_without_its_image_is_told_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "find_prepared", lambda _client, _tag: None)
    (tmp_path / "agentgrade.toml").write_text('agent = "aider"\n')
    lines, healthy = diagnosis.diagnose(tmp_path)
    assert not healthy and marks(lines)["agent aider"] == "NO"
    assert any("-> " in line and "agentgrade setup --agent aider" in line for line in lines)


def test_every_mode_is_shown_with_its_flags_and_where_it_comes_from(tmp_path: Path) -> None:
    (tmp_path / "agentgrade.toml").write_text(
        '[modes.q4]\nmodel = "/q4.gguf"\nlossless = false\n[modes.ub]\nplacebo_of = "mtp"\nserver_args = ["-ub", "9"]\n'
    )
    lines, _ = diagnosis.diagnose(tmp_path)
    shown = lines[lines.index("modes, and what each declares:") + 1 :]
    mtp = "--spec-type draft-mtp --spec-draft-n-max 3"
    assert shown == [
        "  baseline  --spec-type none; speculates = false  (built in)",
        f"  mtp       {mtp}; speculates = true  (built in)",
        '  q4        no flags; model = "/q4.gguf"; lossless = false  (agentgrade.toml)',
        f'  ub        {mtp} -ub 9; placebo_of = "mtp"; speculates = true  (agentgrade.toml)',
    ]


def test_keys_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "agentgrade.toml").write_text(
        'server_args = ["--api-key", "sk-12345"]\nagent_env = { HF_TOKEN = "sk-12345", HOME = "/h" }\n'
        '[modes.m]\nserver_args = ["-hft", "sk-12345"]\n'
    )
    lines, _ = diagnosis.diagnose(tmp_path)
    assert "sk-12345" not in "\n".join(lines)
    assert any("--api-key" in line and "(hidden)" in line for line in lines)
    assert any('"HF_TOKEN": "(hidden)", "HOME": "/h"' in line for line in lines)


def test_a_budget_without_room_in_the_context_is_told(tmp_path: Path) -> None:
    with ScriptedServer(SCRIPTS["idle"], context=4096) as server:
        (tmp_path / "agentgrade.toml").write_text(f'context = 4096\n[modes.mine]\nserver = "{server.url}"\n')
        lines, healthy = diagnosis.diagnose(tmp_path)
    told = [line for line in lines if "response_tokens = 8192" in line and "leaves no room for a prompt" in line]
    assert not healthy and len(told) == 3, lines
