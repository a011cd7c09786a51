"""What a JUnit testcase says of the attempt it belongs to."""

from __future__ import annotations

from pytest_agentgrade.records.model import AttemptRecord, RunRecord


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
