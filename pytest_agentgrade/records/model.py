"""The record of an attempt and of a run: pydantic models with a schema version.

Times are seconds; ``*_at`` is wall clock (Unix time), everything else a duration. Text in these models was escaped
when it came in.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pytest_agentgrade.records.token_account import DraftSteps, SpeedRecord, TokenAccount

RECORD_SCHEMA: Final = 1


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KeyRecord(_Record):
    """Names the attempt; the fields of :class:`pytest_agentgrade.plan.AttemptKey`."""

    task: str
    mode: str
    seed: int
    repeat: int
    response_tokens: int
    label: str


class WorkspacePhase(_Record):
    """The initial workspace as it was built."""

    tree_digest: str
    commit_id: str
    task_digest: str
    prompt_sha256: str
    seconds: float


class ModeDeclaration(_Record):
    """What a mode brings of its own: all that may differ within a pair."""

    server_args: list[str] = Field(default_factory=list)
    model: str | None = None
    server: str | None = None


class ServerPhase(_Record):
    """The server as it was found ready, before the task clock started."""

    kind: str
    build: str
    argv: list[str]
    omitted: list[str] = Field(default_factory=list)
    """Flags for repeatability that this build does not know."""
    url: str
    model: str
    model_sha256: str | None
    context: int | None
    props_digest: str = ""
    speculative: bool | None
    """What ``/slots`` says; None where the server does not tell."""
    supports_tools: bool | None
    demo: bool = False
    """The embedded demo model: a fixture whose scores say nothing about coding ability."""
    gpus: list[str] = Field(default_factory=list)
    """One line for each GPU: name, driver, memory. Empty where there is none."""
    declared: ModeDeclaration | None = None
    """What the mode declared; without it nobody can tell which flags may differ."""
    served_before: int = 0
    """Attempts that this very server had served before (``server_restart = "mode"`` keeps it)."""
    environment: dict[str, str] | None = None
    """Variables it was launched with that change how it computes; None for a URL, and in older records."""
    program_sha256: str | None = None
    """Of its binary, or of the library of the embedded server; None for a URL, and in older records."""
    seconds: float


class EndingRecord(_Record):
    """One thing that ended or limited the attempt."""

    ending: str
    at_seconds: float | None
    """Seconds of the task clock; None where the moment is not known."""
    detail: str = ""


class DraftCounts(_Record):
    """Drafted and accepted tokens over an attempt; None where the server reported none."""

    drafted: int | None
    accepted: int | None


class AgentPhase(_Record):
    """The agent's run, from the start of its process to its exit or kill."""

    agent: str
    agent_version: str
    started_at: float
    clock_seconds: float = Field(ge=0)
    """The task clock: what the user waited."""
    exit_code: int | None
    ended: str
    """``exited``, ``clock`` or ``killed``."""
    requests: int = Field(ge=0)
    auxiliary_requests: int = 0
    """Requests beside the task, such as one for a title; not among ``requests``."""
    first_request_sha256: str | None
    sampling_seed: int
    sampling: dict[str, float]
    thinking: str | None = None
    """``reasoning_effort`` of every request; None: not sent."""
    abort_loops: bool = False
    """Whether a loop found while it ran would have ended the attempt (no older version could)."""
    image_id: str | None = None
    """Of the sandbox image the agent worked in."""
    agent_packages: list[str] = Field(default_factory=list)
    """``name==version`` of all that was installed with an agent from npm or PyPI."""
    task_seconds: float
    turns: int
    prompt_tokens: int = Field(ge=0)
    cached_tokens: int = Field(ge=0)
    cache_untold: int | None = None
    """Responses with some text for which the server did not say how much of the prompt it took from a cache."""
    completion_tokens: int = Field(ge=0)
    predicted_tokens: int = Field(ge=0)
    """Tokens by the server's own timings, for the study's speed."""
    predicted_seconds: float = Field(ge=0)
    prompt_seconds: float = Field(ge=0)
    drafts: DraftCounts
    mode_proof: Literal["proven", "contradicted", "unproven"]
    mode_notes: list[str] = Field(default_factory=list)
    server_peak_rss_bytes: int | None
    server_died: bool = False
    token_account: TokenAccount | None = None
    """None in records of older versions, as are the fields that follow."""
    short_tool_choices: SpeedRecord | None = None
    """Responses with tool calls that write nothing, under 200 tokens."""
    timed_responses: int | None = None
    """Responses for which the server gave its generation time."""
    without_loops: SpeedRecord | None = None
    """Those of them with no loop in them."""
    first_token_seconds: list[float] = Field(default_factory=list)
    """From request to first token, for each streamed response."""
    computed_prompt_tokens: int | None = None
    """Prompt tokens not taken from a cache: with ``prompt_seconds`` the prompt speed."""
    draft_steps: DraftSteps | None = None
    """None where ``/metrics`` does not count drafts."""
    server_vram_bytes: int | None = None
    """GPU memory of the server at the end of the attempt; None without an NVIDIA GPU, or for a server elsewhere."""
    made_with: str | None = None
    """Version of pytest-agentgrade that ran the attempt: a run may be resumed by another one."""
    session: str | None = None
    """Names the call of pytest that ran the attempt, xdist's workers included."""


class SubmissionPhase(_Record):
    """What the agent left, and how the attempt ended."""

    origin: str
    digest: str | None
    """Digest of the submitted tree; None when the submission was refused."""
    refused: str | None = None
    """Why it is not a tree of plain files; then it counts as an attempt that passes nothing."""
    changed: list[str] = Field(default_factory=list)
    """Editable paths that differ from the initial workspace."""
    ignored: list[str] = Field(default_factory=list)
    """Other changed paths: never judged."""
    notes: list[str] = Field(default_factory=list)
    endings: list[EndingRecord] = Field(default_factory=list)
    tokens_left: int | None = None
    """Head room of the longest response under the response budget."""
    seconds_left: float | None = None
    """Head room of the task clock."""
    context_left: int | None = None
    """Head room of the context; None where its size is not known."""
    turns_left: int | None = None
    """Requests left."""

    def has_ending(self, ending: str) -> bool:
        """Whether it is among the endings."""
        return any(record.ending == ending for record in self.endings)


class VerdictRecord(_Record):
    """One check's verdict on the submission."""

    check: str
    beyond: bool
    outcome: Literal["passed", "failed", "error"]
    reason: str = ""
    seconds: float
    draw_n: int
    draw_seed: str
    """Hex; Python integers of this size do not fit JSON readers."""
    fingerprint: str = ""
    """``Task.fingerprint`` of the task as it was judged; empty in older versions and in JUnit: the run's own."""


class FaultRecord(_Record):
    """Trouble that is not the model's: the attempt is not counted."""

    fault: str
    message: str
    hint: str = ""
    phase: str
    retried: int = 0


class AttemptRecord(_Record):
    """Everything known about an attempt; a phase is None until it is finished."""

    schema_version: Literal[1] = RECORD_SCHEMA
    key: KeyRecord
    workspace: WorkspacePhase | None = None
    server: ServerPhase | None = None
    agent: AgentPhase | None = None
    submission: SubmissionPhase | None = None
    fault: FaultRecord | None = None
    verdicts: list[VerdictRecord] = Field(default_factory=list)
    expected_checks: int = Field(default=10, ge=1)

    @property
    def counted_verdicts(self) -> list[VerdictRecord]:
        """Verdicts of the ten checks (``@beyond`` ones left out)."""
        return [verdict for verdict in self.verdicts if not verdict.beyond]

    @property
    def complete(self) -> bool:
        """Every one of the ten checks has a verdict: only then is the attempt x/10 and counted."""
        verdicts = self.counted_verdicts
        graded = len(verdicts) == self.expected_checks and all(v.outcome != "error" for v in verdicts)
        return graded and self.fault is None and self.submission is not None

    @property
    def passed(self) -> int:
        """Number of the ten checks passed."""
        return sum(verdict.outcome == "passed" for verdict in self.counted_verdicts)

    @property
    def delivers(self) -> bool:
        """The submission passes all ten."""
        return self.complete and self.passed == self.expected_checks


class DrawRecord(_Record):
    """The random inputs of one check, shared by all attempts of the run."""

    check: str
    n: int
    seed: str


class RunRecord(_Record):
    """What is fixed for a whole run before its first attempt."""

    schema_version: Literal[1] = RECORD_SCHEMA
    run_id: str
    created_at: float
    version: str
    """Version of pytest-agentgrade."""
    settings: dict[str, Any]
    sources: dict[str, str]
    modes: dict[str, dict[str, Any]]
    plan: list[KeyRecord]
    plan_digest: str
    order: str
    draw_key: str
    """Hex key of the draws; secret while agents run, needed to judge again."""
    host: dict[str, str]
    patches: str | None = None
    tasks: dict[str, str] = Field(default_factory=dict)
    """Task -> digest of all that is asked and of its checks; empty in records of older versions."""

    @model_validator(mode="before")
    @classmethod
    def _without_image(cls, data: Any) -> Any:
        """Older versions had two fields for an image here, never filled: each attempt says which one it had."""
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if name not in ("image", "image_id")}
