from __future__ import annotations

import pytest

from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.attempt.server import ProofStatus, prove_mode

MTP, BASELINE, UNSAID = Mode("mtp", speculates=True), Mode("baseline", speculates=False), Mode("odd")
PROVEN, CONTRADICTED, UNPROVEN = ProofStatus.PROVEN, ProofStatus.CONTRADICTED, ProofStatus.UNPROVEN


@pytest.mark.parametrize(
    ("mode", "slots", "drafted", "accepted", "status"),
    [
        (MTP, True, 100, 60, PROVEN),
        (MTP, None, 100, 60, PROVEN),
        (MTP, True, 0, 0, CONTRADICTED),
        (MTP, None, 0, 0, CONTRADICTED),
        (MTP, False, 100, 60, CONTRADICTED),
        (MTP, True, None, None, UNPROVEN),
        (BASELINE, False, 0, 0, PROVEN),
        (BASELINE, False, None, None, PROVEN),
        (BASELINE, None, 0, 0, PROVEN),
        (BASELINE, False, 1, 0, CONTRADICTED),
        (BASELINE, True, 0, 0, CONTRADICTED),
        (BASELINE, None, None, None, UNPROVEN),
        (UNSAID, True, 100, 60, UNPROVEN),
        (UNSAID, False, 0, 0, UNPROVEN),
    ],
)
def test_the_evidence_decides(
    mode: Mode, slots: bool | None, drafted: int | None, accepted: int | None, status: ProofStatus
) -> None:
    proof = prove_mode(mode, slots, drafted, accepted)
    assert proof.status is status
    assert proof.sentences[0].startswith(f"mode {mode.name} ")
    assert proof.warnings == ()


@pytest.mark.parametrize(
    ("drafted", "accepted", "warned"), [(27, 0, True), (19, 0, False), (1000, 19, True), (1000, 20, False)]
)
def test_drafts_that_are_hardly_ever_accepted_are_a_warning_not_a_contradiction(
    drafted: int, accepted: int, warned: bool
) -> None:
    proof = prove_mode(MTP, True, drafted, accepted)
    assert proof.status is PROVEN
    assert bool(proof.warnings) is warned
