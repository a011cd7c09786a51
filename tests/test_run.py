"""The end of a run on a host that fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.records.store import RunStore
from pytest_agentgrade.run import Run
from tests.records_made_here import a_run


def test_what_cannot_be_removed_at_the_end_is_told_and_nothing_else_is_lost(tmp_path: Path) -> None:
    RunStore(tmp_path).create(a_run())
    said, setup, removed = list[str](), Any, list[str]()

    def lost() -> None:
        raise HostError("lost the engine while removing container 71")

    run = Run.open(setup, tmp_path, None, said.append)  # type: ignore[arg-type]  # it is not looked at
    run._exit.callback(removed.append, "server")
    run._exit.callback(lost)
    run.close()
    assert said == ["lost the engine while removing container 71; the next run removes what is left"]
    assert removed == ["server"]
