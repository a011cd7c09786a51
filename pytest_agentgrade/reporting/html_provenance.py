"""The part of the page that says where everything comes from: settings, servers, models, images, tasks, hosts."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_agentgrade.records.loaded import LoadedRun
from pytest_agentgrade.records.model import AttemptRecord, RunRecord, ServerPhase
from pytest_agentgrade.reporting.html_parts import NONE, Cell, Table, count, moment, size

_SECRET = frozenset({"agent_env"})
"""Settings of which only the names are shown: pages are passed on, and these values may be keys to something."""


@dataclass(frozen=True)
class RunPart:
    """What is known of one run beside its attempts."""

    name: str
    facts: Table
    modes: Table
    servers: Table
    tasks: Table
    settings: Table
    changed: int
    """Settings that are no default."""


def run_part(loaded: LoadedRun) -> RunPart:
    """Everything of a run that its figures rest on; its secret, the key of the draws, is left out."""
    run, records = loaded.run, loaded.records
    return RunPart(
        name=loaded.source.name,
        facts=Table((), [[Cell(name), Cell(value)] for name, value in _facts(run, records) if value]),
        modes=Table(("mode", "declares"), [[Cell(name), Cell(_declared(table))] for name, table in run.modes.items()]),
        servers=Table(("mode", "server", "model", "flags"), _servers(records)),
        tasks=Table(("task", "digest"), [[Cell(task), Cell(digest)] for task, digest in _tasks(run, records)]),
        settings=Table(("setting", "value", "source"), [_setting(run, name) for name in run.settings]),
        changed=sum(source != "default" for source in run.sources.values()),
    )


def _facts(run: RunRecord, records: Sequence[AttemptRecord]) -> list[tuple[str, str]]:
    images = _distinct(record.agent.image_id for record in records if record.agent)
    agents = _distinct(f"{r.agent.agent} {r.agent.agent_version}" for r in records if r.agent)
    packages = _distinct(name for record in records if record.agent for name in record.agent.agent_packages)
    gpus = _distinct(gpu for record in records if record.server for gpu in record.server.gpus)
    memory = run.host.get("memory_bytes", "")
    host = {**run.host, "memory": size(int(memory)) if memory.isdecimal() else memory}
    return [
        ("run", run.run_id),
        ("begun", moment(run.created_at) if run.created_at else ""),
        ("made with", f"pytest-agentgrade {run.version}" if run.version else ""),
        ("order", f"{run.order}, {len(run.plan)} attempts, plan {run.plan_digest[:16]}".removesuffix(", plan ")),
        ("agent", ", ".join(agents)),
        ("packages of the agent", f"{len(packages)}, listed in 3-agent.json of each attempt" if packages else ""),
        ("sandbox image", ", ".join(images)),
        ("patches", run.patches or ""),
        *((name, text) for name, text in host.items() if name != "memory_bytes"),
        ("GPU", "; ".join(gpus)),
    ]


def _declared(table: dict[str, Any]) -> str:
    """What is set, flags as on a command line."""
    shown = {name: value for name, value in table.items() if name != "name" and value not in (None, [], ())}
    return "\n".join(
        f"{name}: {shlex.join(map(str, value)) if isinstance(value, list) else _json(value)}"
        for name, value in shown.items()
    )


def _servers(records: Sequence[AttemptRecord]) -> list[list[Cell]]:
    """One row for each mode and what served it; the port, another one for each attempt, does not tell them apart."""
    rows: dict[tuple[Cell, ...], None] = {}
    for record in records:
        if record.server is not None:
            rows.setdefault(tuple(_server(record.key.mode, record.server)))
    return [list(row) for row in rows]


def _server(mode: str, server: ServerPhase) -> list[Cell]:
    digest = f"SHA-256 {server.model_sha256}" if server.model_sha256 else "of unknown content"
    context = f"\ncontext {count(server.context)}" if server.context else ""
    flags = shlex.join(_without_port(server.argv)) if server.argv else server.url
    omitted = f"\nnot known to this build: {', '.join(server.omitted)}" if server.omitted else ""
    return [
        Cell(mode),
        Cell(server.build or NONE, server.kind),
        Cell(server.model + (" (the demo model)" if server.demo else ""), digest + context),
        Cell(flags + omitted, kind="code"),
    ]


def _without_port(argv: Sequence[str]) -> list[str]:
    at = len(argv) - 2
    return list(argv[:at]) if at >= 0 and argv[at] == "--port" else list(argv)


def _tasks(run: RunRecord, records: Sequence[AttemptRecord]) -> Iterable[tuple[str, str]]:
    """Digest of all that is asked and checked; of older records that of the task alone."""
    if run.tasks:
        return run.tasks.items()
    return {r.key.task: r.workspace.task_digest for r in records if r.workspace is not None}.items()


def _setting(run: RunRecord, name: str) -> list[Cell]:
    value, source = run.settings[name], run.sources.get(name, "")
    if name in _SECRET and isinstance(value, dict):
        value = dict.fromkeys(value, "(not shown)")
    kind = "" if source in ("default", "") else "changed"
    return [Cell(name), Cell(_json(value), kind="code"), Cell(source, kind=kind)]


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _distinct(values: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(value for value in values if value))
