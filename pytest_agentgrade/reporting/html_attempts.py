"""The part of the page on each attempt: its ends, where time and tokens went, what it left, what was judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from pytest_agentgrade.analysis.experiment import Experiment
from pytest_agentgrade.analysis.pair_conditions import Recorded, run_identity
from pytest_agentgrade.escaping import escape
from pytest_agentgrade.plan import AttemptKey
from pytest_agentgrade.records.loaded import LoadedRun
from pytest_agentgrade.records.model import AgentPhase, AttemptRecord, KeyRecord, SubmissionPhase
from pytest_agentgrade.records.store import RunStore
from pytest_agentgrade.reporting.html_parts import NONE, Cell, Table, count, moment, number, size

PATCH_CHARACTERS = 40_000
"""A longer patch is cut, with a note; the whole one lies in the attempt's folder."""
_LINE_KINDS = {"+": "add", "-": "del", "@": "hunk", "d": "file"}


class PatchLine(NamedTuple):
    """One line of a patch and what kind of line it is."""

    text: str
    kind: str


@dataclass(frozen=True)
class Patch:
    """The text of a submission's change, as far as it is shown."""

    lines: tuple[PatchLine, ...]
    cut: int
    """Bytes of the file if it is longer than what is shown, else 0."""


@dataclass(frozen=True)
class Attempt:
    """An attempt in the order of the page."""

    number: int
    record: AttemptRecord
    place: str
    """Where its record is: the folder, below that of all runs, or the JUnit file and the attempt's name."""
    folder: Path | None
    """None for an attempt that a JUnit file tells of."""
    twin: bool = False
    """Made twice: only for the test of determinism, in no other figure."""

    @property
    def id(self) -> str:
        """Of its section in the page."""
        return f"attempt-{self.number}"

    @property
    def name(self) -> str:
        """``task[mode-seed]``, as everywhere."""
        return f"{self.record.key.task}[{self.record.key.label}]"

    @property
    def score(self) -> str:
        """``7/10``, or why it has none."""
        record = self.record
        if record.complete:
            return f"{record.passed}/{record.expected_checks}"
        if record.fault is not None:
            return f"fault of the {record.fault.fault}"
        return "not judged by all checks" if record.submission else "did not run"

    @property
    def state(self) -> str:
        """``works``, ``fails`` or ``uncounted``: the CSS class of its score."""
        return "works" if self.record.delivers else "fails" if self.record.complete else "uncounted"

    @property
    def clock(self) -> str:
        """The task clock."""
        return NONE if self.record.agent is None else number(self.record.agent.clock_seconds, " s")

    @property
    def endings(self) -> str:
        """In the order of time."""
        endings = self.record.submission.endings if self.record.submission else []
        return ", ".join(ending.ending.replace("_", " ") for ending in endings)

    @property
    def patch(self) -> Patch | None:
        """Read when it is shown; None without a file."""
        return None if self.folder is None else read_patch(self.folder / "submission.patch")

    def ending_rows(self) -> list[list[Cell]]:
        """(ending, moment, detail)."""
        found = self.record.submission.endings if self.record.submission else []
        return [[Cell(e.ending.replace("_", " ")), Cell(number(e.at_seconds, " s")), Cell(e.detail)] for e in found]

    def facts(self) -> list[tuple[str, Table]]:
        """(title, table) of endings, head room, times, tokens and server, as far as they are known."""
        record = self.record
        tables = [("Endings", Table(("ending", "task clock", "detail"), self.ending_rows()))]
        tables += [("Head room left", _pairs(_head_room(record.submission)))] if record.submission else []
        tables.append(("Where the time went", _pairs(_times(record))))
        tables += [("Tokens", _pairs(_tokens(record.agent)))] if record.agent else []
        tables.append(("Agent and server", _pairs(_servants(record))))
        return [(title, table) for title, table in tables if table.rows]

    def verdicts(self) -> Table:
        """(check, outcome, seconds, message)."""
        rows = [
            [
                Cell(verdict.check.removeprefix("test_").replace("_", " "), "beyond" if verdict.beyond else ""),
                Cell(verdict.outcome, kind=verdict.outcome),
                Cell(number(verdict.seconds, " s", 2)),
                Cell(verdict.reason),
            ]
            for verdict in sorted(self.record.verdicts, key=lambda one: (one.beyond, one.check))
        ]
        return Table(("check", "verdict", "took", "message"), rows)


def number_attempts(experiment: Experiment, runs: Sequence[LoadedRun]) -> tuple[Attempt, ...]:
    """All attempts of the report in plan order; behind them those that are only twins of others."""
    sources = {run_identity(loaded.run): loaded.source for loaded in runs}
    chosen, twins = ({_identity(one): one for one in group} for group in (experiment.chosen, _second(experiment)))
    only_twins = [one for identity, one in twins.items() if identity not in chosen]
    both = chain(((one, False) for one in chosen.values()), ((one, True) for one in only_twins))
    return tuple(_attempt(at, one, sources[run_identity(one.run)], twin) for at, (one, twin) in enumerate(both, 1))


def _second(experiment: Experiment) -> Iterable[Recorded]:
    return (again for _, again in experiment.twins)


def _identity(one: Recorded) -> tuple[object, KeyRecord]:
    return run_identity(one.run), one.record.key


def by_key(attempts: Iterable[Attempt]) -> dict[KeyRecord, Attempt]:
    """The attempts that figures are made from, by their key: there is one of each."""
    return {attempt.record.key: attempt for attempt in attempts if not attempt.twin}


def read_patch(path: Path) -> Patch | None:
    """The file's text with everything harmful escaped, cut at PATCH_CHARACTERS; None when there is no such file."""
    try:
        with path.open("rb") as file:
            data = file.read(4 * PATCH_CHARACTERS + 1)
            whole = path.stat().st_size
    except OSError:
        return None
    text = data.decode("utf-8", "backslashreplace")
    shown = escape(text[:PATCH_CHARACTERS], PATCH_CHARACTERS, keep_newlines=True)
    lines = tuple(PatchLine(line, _LINE_KINDS.get(line[:1], "")) for line in shown.splitlines())
    return Patch(lines, whole if len(text) > PATCH_CHARACTERS else 0)


def _attempt(at: int, one: Recorded, source: Path, twin: bool) -> Attempt:
    key = one.record.key
    if not source.is_dir():
        return Attempt(at, one.record, f"{source.name}: {key.task}[{key.label}]", None, twin)
    folder = RunStore(source).attempt(AttemptKey(**key.model_dump())).folder
    return Attempt(at, one.record, f"{source.name}/{folder.relative_to(source)}", folder, twin)


def _pairs(rows: Iterable[tuple[str, str]]) -> Table:
    """Rows without a head, those without a figure left out."""
    return Table((), [[Cell(name), Cell(value)] for name, value in rows if value not in ("", NONE)])


def _head_room(one: SubmissionPhase) -> list[tuple[str, str]]:
    return [
        ("response budget, longest response", count(one.tokens_left, " tokens")),
        ("context", count(one.context_left, " tokens")),
        ("task clock", number(one.seconds_left, " s")),
        ("turns", count(one.turns_left)),
    ]


def _times(record: AttemptRecord) -> list[tuple[str, str]]:
    agent, place, server = record.agent, record.workspace, record.server
    rows = [("workspace made", number(place.seconds, " s", 2))] if place else []
    rows += [("server made ready", number(server.seconds, " s", 2))] if server else []
    if agent:
        limit = f" of {agent.task_seconds:g} s"
        rest = agent.clock_seconds - agent.prompt_seconds - agent.predicted_seconds
        rows += [
            ("agent started", moment(agent.started_at)),
            ("task clock", number(agent.clock_seconds, " s", 2) + limit),
            ("\N{EN DASH} prompts, by the server's clock", number(agent.prompt_seconds, " s", 2)),
            ("\N{EN DASH} generation, by the server's clock", number(agent.predicted_seconds, " s", 2)),
            # Requests that ran side by side would make it negative: then there is no such rest.
            ("\N{EN DASH} tools, agent and everything else", number(rest, " s", 2) if rest >= 0 else NONE),
        ]
    seconds = [verdict.seconds for verdict in record.verdicts]
    return [*rows, (f"{len(seconds)} checks", number(sum(seconds), " s", 2))] if seconds else rows


def _tokens(agent: AgentPhase) -> list[tuple[str, str]]:
    account, drafts = agent.token_account, agent.drafts
    speed = agent.predicted_tokens / agent.predicted_seconds if agent.predicted_seconds > 0 else None
    estimated = " (estimated)" if account and account.reasoning_estimated else ""
    rows = [
        ("requests", f"{agent.requests:,} of {agent.turns:,}"),
        ("beside the task", count(agent.auxiliary_requests or None, " requests")),
        ("prompt", count(agent.prompt_tokens)),
        ("from a cache", count(agent.cached_tokens)),
        ("generated, by usage", count(agent.completion_tokens)),
        ("generated, by the server's timings", count(agent.predicted_tokens)),
        ("speed", number(speed, " tok/s")),
        ("reasoning", count(account.reasoning_tokens) + estimated if account and account.reasoning_tokens else NONE),
    ]
    if drafts.drafted:
        rows.append(("drafts accepted", f"{count(drafts.accepted)} of {count(drafts.drafted)}"))
    return rows + [("counts disagree", sentence) for sentence in (account.disagreements if account else [])]


def _servants(record: AttemptRecord) -> list[tuple[str, str]]:
    agent, server, place = record.agent, record.server, record.workspace
    rows: list[tuple[str, str]] = []
    if agent:
        code = NONE if agent.exit_code is None else str(agent.exit_code)
        rows += [
            ("agent", f"{agent.agent} {agent.agent_version}"),
            ("its end", f"{agent.ended}, exit code {code}"),
            ("seed sent", str(agent.sampling_seed)),
            ("mode", "; ".join([agent.mode_proof, *agent.mode_notes])),
            ("server", "died" if agent.server_died else ""),
            ("peak memory of the server", size(agent.server_peak_rss_bytes)),
            ("GPU memory of the server", size(agent.server_vram_bytes)),
            ("first request, SHA-256", agent.first_request_sha256 or ""),
        ]
    rows += [("server build", server.build)] if server else []
    return [*rows, ("initial commit", place.commit_id)] if place else rows
