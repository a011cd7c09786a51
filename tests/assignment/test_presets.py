"""The study as a preset: what it sets, what a user may change, and what is said about it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from pytest_agentgrade.assignment.layers import Layer
from pytest_agentgrade.assignment.presets import PRESETS, find_preset
from pytest_agentgrade.assignment.settings import resolve
from pytest_agentgrade.attempt.server.command import server_command
from pytest_agentgrade.attempt.serving import server_config
from pytest_agentgrade.errors import SettingsError
from tests.graded import QUIET_PLUGINS, run_pytest

STUDY = find_preset("study-2026-10")
FLAGS = "-ngl -ctk -ctv -fa -b -ub -np --spec-type --spec-draft-n-max --no-cache-prompt -m --model -c --port --host"


def test_every_value_is_the_published_one() -> None:
    resolved = resolve([STUDY.layer])
    settings = resolved.settings
    assert (settings.seeds, settings.repeats, settings.order) == ([4242, 8675309], 1, "by-seed")
    assert (settings.response_tokens, settings.task_seconds, settings.thinking) == ([8192], 480.0, "medium")
    sampling = settings.sampling
    assert (sampling.temperature, sampling.top_p, sampling.top_k, sampling.min_p) == (1.0, 0.95, 20, 0.0)
    assert STUDY.modes == ("baseline", "mtp")
    assert {resolved.sources[name] for name in STUDY.values} == {"preset study-2026-10"}
    assert resolved.sources["model"] == "default"


def test_the_server_is_launched_with_the_published_flags(tmp_path: Path) -> None:
    binary, model = tmp_path / "llama-server", tmp_path / "m.gguf"
    binary.write_text("#!/bin/sh\nprintf '%s\\n' " + " ".join(f"'{flag} X'" for flag in FLAGS.split()) + "\n")
    binary.chmod(0o755)
    model.write_bytes(b"GGUF")
    settings = resolve([STUDY.layer, Layer("t", {"model": str(model), "server": str(binary)})]).settings
    off, on = (
        shlex.join(server_command(mode, server_config(settings)).argv) for mode in settings.pick_modes(STUDY.modes)
    )
    published = "-ngl 99 -ctk q8_0 -ctv q8_0 -fa on -b 512 -ub 256"
    assert "-c 131072" in off and "-np 1" in off and "--no-cache-prompt" in off
    assert off.endswith(f"{published} --spec-type none")
    assert on.endswith(f"{published} --spec-type draft-mtp --spec-draft-n-max 3")


def test_file_and_command_line_win_and_the_change_is_said() -> None:
    resolved = resolve([STUDY.layer, Layer("agentgrade.toml", {"seeds": [1]})])
    assert (resolved.settings.seeds, resolved.sources["seeds"]) == ([1], "agentgrade.toml")
    assert resolved.settings.context == 131_072
    assert "changed from the preset: seeds" in STUDY.notes(resolved, "2.0.20+2")


def test_another_agent_or_version_than_the_studys_is_said() -> None:
    published, version = STUDY.notes(resolve([STUDY.layer]), "1.18.33+2")
    assert "Qwen3.8-27B, Q4_K_M" in published and "OpenCode 2.0.20" in published
    assert version == "this run's opencode is 1.18.33+2: another version is another agent"
    assert STUDY.notes(resolve([STUDY.layer]), "2.0.20+2") == [published]
    other = resolve([STUDY.layer, Layer("command line", {"agent": "toolloop"})])
    _, agent, changed = STUDY.notes(other, "9")
    assert agent == "this run's agent is toolloop: its figures do not repeat the published ones"
    assert changed == "changed from the preset: agent"


def test_the_demo_model_is_no_stand_in_unless_asked_for() -> None:
    with pytest.raises(SettingsError, match="needs a model file: it was made with Qwen3"):
        STUDY.require_model(resolve([STUDY.layer]))
    STUDY.require_model(resolve([STUDY.layer, Layer("command line", {"model": "demo"})]))
    STUDY.require_model(resolve([STUDY.layer, Layer("command line", {"server": "http://127.0.0.1:1"})]))


def test_an_unknown_preset_gets_a_suggestion() -> None:
    with pytest.raises(SettingsError, match=r"unknown preset 'study-2026-1' - did you mean 'study-2026-10'\?"):
        find_preset("study-2026-1")


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_valid_by_itself(name: str) -> None:
    preset = PRESETS[name]
    resolve([preset.layer]).settings.pick_modes(preset.modes)


def test_pytest_plans_the_study_and_shows_where_each_value_comes_from(tmp_path: Path) -> None:
    done = run_pytest(
        tmp_path, "--agent-preset=study-2026-10", "--agent-model=demo", "--agent-name=toolloop",
        "--agent-task-seconds=60", "--collect-only", *QUIET_PLUGINS,
    )  # fmt: skip
    assert done.code == 0, done.output
    assert "thinking='medium' (preset study-2026-10)" in done.output
    assert "task_seconds=60.0 (--agent-task-seconds)" in done.output
    assert "changed from the preset: task_seconds, agent" in done.output
    assert "agentgrade: plan of 16 attempts, by-seed order" in done.output
    assert "16. sqlite_transfers[baseline-8675309]" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--agent-preset=study-2026"], "unknown preset 'study-2026' - did you mean 'study-2026-10'?"),
        (["--agent-preset=study-2026-10"], "needs a model file"),
        (["--agent-preset=study-2026-10", "--agent-model=demo", "--agent-mode=off"], "unknown mode 'off'"),
    ],
)
def test_mistakes_are_said_in_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = run_pytest(tmp_path, *arguments, *QUIET_PLUGINS)
    assert done.code == 4 and message in done.output and "Traceback" not in done.output
