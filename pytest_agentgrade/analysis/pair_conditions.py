"""What must be equal for two attempts to be a pair, read from their records as short text."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pytest_agentgrade.records.model import AttemptRecord, RunRecord, ServerPhase


class Recorded(NamedTuple):
    """An attempt and the run it belongs to."""

    record: AttemptRecord
    run: RunRecord


def run_identity(run: RunRecord) -> tuple[str, float]:
    """What tells runs apart; the name alone may be the same in two places."""
    return run.run_id, run.created_at


def same_run(one: Recorded, other: Recorded) -> bool:
    """Whether two attempts belong to one run."""
    return run_identity(one.run) == run_identity(other.run)


Conditions = Mapping[str, str | None]
"""Name for people -> value; None where it is not known. Equal values mean equal conditions."""


def conditions(one: Recorded, other: Recorded) -> tuple[Conditions, Conditions]:
    """Everything that has to agree, for both attempts: what a mode declares as its own is left out.

    What belongs to a whole run (host, container runtime) is compared only between attempts of two runs.
    """
    sides = [_attempt_conditions(side.record) for side in (one, other)]
    servers = [one.record.server, other.record.server]
    own_model = any(server and server.declared and server.declared.model for server in servers)
    own_server = any(server and server.declared and server.declared.server for server in servers)
    for side, server, opposite in zip(sides, servers, reversed(servers), strict=True):
        side["server flags"] = _common_flags(server, opposite if own_server else None)
        side["server environment"] = environment_text(server)
        if not own_model:
            side["model file"] = server.model_sha256 if server else None
            side["demo model"] = str(server.demo) if server else None
        if not own_server:
            side["server build"] = (server.build or None) if server else None
            side["server program"] = server.program_sha256 if server else None
    together = same_run(one, other)
    for side, recorded in zip(sides, (one, other), strict=True):
        side["checks"] = _checks(recorded, together)
        if not together:
            side.update(_run_conditions(recorded))
    return sides[0], sides[1]


def _attempt_conditions(record: AttemptRecord) -> dict[str, str | None]:
    place, agent = record.workspace, record.agent
    return {
        "initial workspace": (place.tree_digest or None) if place else None,
        "commit id": (place.commit_id or None) if place else None,
        "task": place.task_digest if place else None,
        "prompt": place.prompt_sha256 if place else None,
        "first request": agent.first_request_sha256 if agent else None,
        "sampling": json.dumps(agent.sampling, sort_keys=True) if agent else None,
        "thinking": str(agent.thinking) if agent else None,
        "seed sent": str(agent.sampling_seed) if agent else None,
        "response tokens": str(record.key.response_tokens),
        "task seconds": f"{agent.task_seconds:g}" if agent else None,
        "turns": str(agent.turns) if agent else None,
        "live abort of loops": ("on" if agent.abort_loops else "off") if agent else None,
        "agent": f"{agent.agent} {agent.agent_version}" if agent else None,
        "sandbox image": agent.image_id if agent else None,
        "pytest-agentgrade": agent.made_with if agent else None,
        "cached prompt tokens": "told" if agent and agent.cache_untold == 0 else None,
        "draws": _draws(record),
    }


def _run_conditions(one: Recorded) -> dict[str, str | None]:
    host, settings, server = one.run.host, one.run.settings, one.record.server
    parts = [host.get(name) for name in ("system", "machine", "cores", "memory_bytes")]
    return {
        "host": ", ".join(part for part in parts if part) or None,
        "GPU": ("; ".join(map(_steady_gpu, server.gpus)) or "no NVIDIA GPU seen") if server else None,
        "container runtime": str(settings["runtime"]) if "runtime" in settings else None,
        "server restart": str(settings["server_restart"]) if "server_restart" in settings else None,
    }


def _checks(one: Recorded, together: bool) -> str | None:
    """Which version of the task's checks gave the ten verdicts; a run that does not say had one version of them."""
    of_run = one.run.tasks.get(one.record.key.task) or ("those of the run" if together else None)
    found = {verdict.fingerprint or of_run for verdict in one.record.counted_verdicts}
    return None if None in found or not found else ", ".join(sorted(filter(None, found)))


def _steady_gpu(line: str) -> str:
    """Name, driver and memory of a GPU, without the memory that was in use."""
    return ",".join(line.split(",")[:3])


def _draws(record: AttemptRecord) -> str | None:
    """One digest for the random inputs of the ten checks."""
    drawn = sorted((verdict.check, verdict.draw_n, verdict.draw_seed) for verdict in record.counted_verdicts)
    if not drawn or any(not seed for _, _, seed in drawn):
        return None
    return hashlib.sha256(json.dumps(drawn).encode()).hexdigest()


def _common_flags(server: ServerPhase | None, opposite: ServerPhase | None) -> str | None:
    """The flags of a launched server that no mode declares: without program, model, port and the mode's own.

    ``opposite`` is given when the modes bring servers of their own: flags for repeatability that the other build does
    not know are then left out.
    """
    if server is None or server.declared is None:
        return None
    begin = _flags_begin(server.argv)
    if begin is None:
        return None
    words = _without_tail(server.argv[begin:], server.declared.server_args)
    for group in opposite.omitted if opposite else ():
        words = _without(words, group.split())
    return shlex.join(words)


def environment_text(server: ServerPhase | None) -> str | None:
    """The variables that change how a server computes, as one would type them; None where they are not known."""
    if server is None or server.environment is None:
        return None
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in sorted(server.environment.items())) or "(empty)"


def _flags_begin(argv: Sequence[str]) -> int | None:
    """Index behind ``PROGRAM... -m MODEL``; the embedded server's program has an ``-m`` of its own before that."""
    places = (at for at in range(len(argv) - 2) if argv[at] == "-m" and argv[at + 2] == "-c")
    return next((at + 2 for at in places), None)


def _without_tail(words: Sequence[str], own: Sequence[str]) -> list[str]:
    """Cut ``--host H --port P`` and, before it, the mode's own flags."""
    kept = list(words[:-4]) if len(words) >= 4 and words[-4] == "--host" else list(words)
    if own and kept[-len(own) :] == list(own):
        return kept[: -len(own)]
    return kept


def _without(words: Sequence[str], group: Sequence[str]) -> list[str]:
    size = len(group)
    at = next((at for at in range(len(words)) if list(words[at : at + size]) == list(group)), None)
    return list(words) if at is None else [*words[:at], *words[at + size :]]
