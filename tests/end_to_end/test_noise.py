"""A placebo beside its mode, and the mode once more with the same seeds: what the report makes of real attempts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pytest_agentgrade.cli import main
from tests.graded import PROJECT, QUIET_PLUGINS, Graded, run_pytest, scripted_mode, write_settings
from tests.scripted_server import ScriptedServer, references, solve

TASK = "csv_ledger"
OPTIONS = (f"--agent-task={TASK}", "--agent-exit=measure", *QUIET_PLUGINS, "--tb=no")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Graded, Graded]]:
    """One run of a mode and its placebo with two seeds, then one of the mode alone with one of these seeds."""
    base = tmp_path_factory.mktemp("noise")
    script = solve(references(PROJECT / "task_fixtures", PROJECT / "hidden_checks"))
    with ExitStack() as stack:
        one, other = (stack.enter_context(ScriptedServer(script)) for _ in range(2))
        settings = "seeds = [1, 2]\n" + scripted_mode(one.url, "plain") + scripted_mode(other.url, "ub256")
        found = []
        for name, options in (("both", "--agent-mode=plain,ub256"), ("again", "--agent-mode=plain --agent-seed=1")):
            (base / name).mkdir()
            write_settings(base / name, f'{settings}placebo_of = "plain"\n')
            found.append(run_pytest(base / name, *options.split(), *OPTIONS, seconds=600))
        yield found[0], found[1]


def test_the_end_of_the_run_calls_the_placebo_one(runs: tuple[Graded, Graded]) -> None:
    text = " ".join(runs[0].output.split())
    assert "ub256, a placebo of plain: ub256 changes numerics only: it measures noise and is no contender." in text
    assert "No evidence that it differs, as it should be: ub256 2 of 2, plain 2 of 2" in text
    assert "ub256 against plain" not in text
    assert runs[0].run.run().modes["ub256"]["placebo_of"] == "plain"


def test_the_same_mode_and_seed_again_is_a_determinism_test(
    runs: tuple[Graded, Graded], capsys: pytest.CaptureFixture[str]
) -> None:
    folders: list[Path] = [graded.run.folder for graded in runs]
    assert main(["compare", *map(str, folders)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Determinism: one attempt of plain made twice with the same seed: 1 of 1 left the same submission" in text
    assert "plain 2 of 2" in text, "attempts made twice count once"
