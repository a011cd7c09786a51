"""The examples of ``hookspecs.py``, copied into a conftest.py."""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path

from pytest_agentgrade import hookspecs
from tests.graded import QUIET_PLUGINS, run_pytest


def example(hook: object) -> str:
    return textwrap.dedent(inspect.cleandoc(str(hook.__doc__)).split("::\n\n", 1)[1])


def test_the_examples_run_once_for_each_attempt_and_each_run(tmp_path: Path) -> None:
    hooks = (hookspecs.pytest_agentgrade_attempt_finished, hookspecs.pytest_agentgrade_run_finished)
    (tmp_path / "conftest.py").write_text("\n".join(example(hook) for hook in hooks))
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches" / "sqlite_transfers.patch").write_text("no patch at all\n")
    done = run_pytest(
        tmp_path, "--agent-patches=patches", "--agent-seed=7", "-k", "moves_the_amount or retry", "-s", *QUIET_PLUGINS
    )
    lines = done.output.splitlines()
    assert sum(line.endswith("patches-7 None") for line in lines) == 1, done.output
    assert sum(line.endswith(f"{done.run.folder.name} 0") for line in lines) == 1
