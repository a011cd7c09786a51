"""What a fault means for an attempt, by the moment at which it comes."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.pipeline import Attempt
from pytest_agentgrade.records.model import AgentPhase, SubmissionPhase
from pytest_agentgrade.records.store import AttemptStore
from tests.records_made_here import a_key, an_agent


class Untidy(Attempt):
    """Stores what it is given; then the host fails."""

    phases: tuple[AgentPhase | SubmissionPhase, ...] = ()

    def _run(self) -> None:
        for phase in self.phases:
            self.store.write(phase)
        raise HostError("cannot remove volume v: in use")


def run(folder: Path, *phases: AgentPhase | SubmissionPhase) -> tuple[AttemptStore, list[str], HostError | None]:
    store, said = AttemptStore(folder / "a", a_key()), list[str]()
    given: dict[str, Any] = dict.fromkeys(field.name for field in fields(Attempt))
    attempt = Untidy(**given | {"key": a_key(), "store": store, "narrate": said.append})
    object.__setattr__(attempt, "phases", phases)
    try:
        attempt.run()
    except HostError as fault:
        return store, said, fault
    return store, said, None


SUBMITTED = SubmissionPhase(origin="agent", digest="d")


def test_what_fails_behind_a_stored_submission_voids_no_attempt(tmp_path: Path) -> None:
    store, said, fault = run(tmp_path, an_agent(), SUBMITTED)
    assert fault is None and store.record().fault is None and store.record().submission == SUBMITTED
    assert said == [f"{a_key()}: cannot remove volume v: in use; that was after its submission had been stored"]


def test_nor_does_it_hide_that_the_server_was_in_another_mode(tmp_path: Path) -> None:
    contradicted = an_agent().model_copy(update={"mode_proof": "contradicted"})
    store, _, fault = run(tmp_path, contradicted, SUBMITTED)
    assert fault is not None and store.record().fault is not None


@pytest.mark.parametrize("phases", [(), (an_agent(),)])
def test_before_the_first_request_it_is_tried_once_more(tmp_path: Path, phases: tuple[AgentPhase, ...]) -> None:
    store, said, fault = run(tmp_path, *phases)
    assert fault is not None and "trying once more" in said[0] and len(said) == 1
    recorded = store.record().fault
    assert recorded is not None and recorded.retried == 1 and (tmp_path / "a.try1").is_dir()
