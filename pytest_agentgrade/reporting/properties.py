"""What a JUnit testcase says of the attempt it belongs to."""

from __future__ import annotations

import json

from pytest_agentgrade.records.junit_names import PREFIX, RECORD
from pytest_agentgrade.records.model import AttemptRecord, RunRecord


def record_property(record: AttemptRecord, run: RunRecord) -> tuple[str, object]:
    """Attempt and run as JSON, without verdicts (the testcases have them), plan and key of the draws.

    One testcase of an attempt carries it: what a comparison of JUnit files needs for times and pair proofs.
    """
    attempt = record.model_copy(update={"verdicts": []}).model_dump(mode="json", exclude_defaults=True)
    whole = run.model_copy(update={"plan": [], "draw_key": ""}).model_dump(mode="json")
    return RECORD, json.dumps({"run": whole, "attempt": attempt}, separators=(",", ":"))


def case_properties(
    record: AttemptRecord, run: RunRecord, *, beyond: bool, draw: tuple[int, str] | None, whole: bool
) -> list[tuple[str, object]]:
    """All that a testcase says: of its attempt, of its check (``draw`` is n and hex seed), the record if ``whole``."""
    found = attempt_properties(record, run)
    found += [(f"{PREFIX}draw", f"{draw[0]}:{draw[1]}")] if draw else []
    found += [(f"{PREFIX}beyond", "true")] if beyond else []
    return [*found, record_property(record, run)] if whole else found


def attempt_properties(record: AttemptRecord, run: RunRecord) -> list[tuple[str, object]]:
    """(name, value) pairs of short text: names of the attempt, its endings, and the digests of a pair proof."""
    key = record.key
    pairs: list[tuple[str, object]] = [
        ("agentgrade.run", run.run_id),
        ("agentgrade.order", run.order),
        ("agentgrade.task", key.task),
        ("agentgrade.mode", key.mode),
        ("agentgrade.seed", str(key.seed)),
        ("agentgrade.repeat", str(key.repeat)),
        ("agentgrade.response_tokens", str(key.response_tokens)),
    ]
    if record.workspace is not None:
        pairs.append(("agentgrade.workspace", record.workspace.tree_digest))
        pairs.append(("agentgrade.task_digest", record.workspace.task_digest))
    if record.server is not None:
        pairs += [("agentgrade.server", record.server.build), ("agentgrade.model", record.server.model_sha256 or "")]
    if record.agent is not None:
        agent = record.agent
        pairs += [
            ("agentgrade.agent", f"{agent.agent} {agent.agent_version}"),
            ("agentgrade.first_request", agent.first_request_sha256 or ""),
            ("agentgrade.clock_seconds", f"{agent.clock_seconds:.3f}"),
            ("agentgrade.predicted_tokens", str(agent.predicted_tokens)),
            ("agentgrade.predicted_seconds", f"{agent.predicted_seconds:.6f}"),
            ("agentgrade.drafted", _text(agent.drafts.drafted)),
            ("agentgrade.accepted", _text(agent.drafts.accepted)),
            ("agentgrade.mode_proof", agent.mode_proof),
        ]
    if record.submission is not None:
        pairs.append(("agentgrade.submission", record.submission.digest or "refused"))
        pairs.append(("agentgrade.endings", ",".join(ending.ending for ending in record.submission.endings)))
    if record.fault is not None:
        pairs.append(("agentgrade.fault", record.fault.fault))
    return pairs


def _text(value: int | None) -> str:
    return "" if value is None else str(value)
