"""What the agent's run and the tree it left say of how the attempt ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_agentgrade.attempt.agents.base import AgentEnd, AgentRun
from pytest_agentgrade.attempt.ending_kinds import AttemptLimits, Ending, EndingRecord
from pytest_agentgrade.attempt.exchange import Cut, Exchange

_EXIT_OF_SHELL = 126
"""From here on an exit code says that the program could not be run, or which signal ended it."""
_MADE_IT_STOP = (Cut.DEADLINE, Cut.REFUSED, Cut.LOOP)


def of_run(exchanges: Sequence[Exchange], run: AgentRun, limits: AttemptLimits) -> Iterator[EndingRecord]:
    """Clock, crash, or an end in order."""
    if run.ended is AgentEnd.CLOCK:
        yield EndingRecord(Ending.TASK_CLOCK, run.seconds, f"{limits.task_seconds:g} s")
        return
    if run.ended is AgentEnd.KILLED or _failed(exchanges, run):
        yield EndingRecord(Ending.AGENT_CRASHED, run.seconds, _crash(run))
    elif _finished(exchanges, run):
        yield EndingRecord(Ending.FINISHED, run.seconds, "")
    elif not any(exchange.cut in _MADE_IT_STOP for exchange in exchanges):
        yield EndingRecord(Ending.STOPPED, run.seconds, "")


def _failed(exchanges: Sequence[Exchange], run: AgentRun) -> bool:
    """By its exit code, unless an answer that was no reply came last: many agents exit with 1 then, as they may."""
    if not run.exit_code:
        return run.exit_code is None
    return run.exit_code >= _EXIT_OF_SHELL or not exchanges or exchanges[-1].cut is None


def _finished(exchanges: Sequence[Exchange], run: AgentRun) -> bool:
    """As the agent says; else by the sign of all chat agents: a last reply that is text and asks for no tool.

    Whatever it says, not if its last request was refused or failed: an agent may take a summary of its own for the end.
    """
    serving = [exchange for exchange in exchanges if not exchange.auxiliary]
    last = serving[-1] if serving else None
    if last is not None and last.cut not in (None, Cut.CLIENT):
        return False
    if run.finished is not None or last is None:
        return bool(run.finished)
    return last.cut is None and last.finish_reason == "stop" and bool(last.content.strip()) and not last.tool_calls


def _crash(run: AgentRun) -> str:
    if run.ended is AgentEnd.KILLED:
        return "killed for too much output"
    memory = ", a process was killed for memory" if run.oom_killed else ""
    lines = run.stderr_tail.strip().splitlines()
    return f"exit code {run.exit_code}{memory}" + (f": {lines[-1][:300]}" if lines else "")


def of_tree(run: AgentRun, production: tuple[str, ...], other: tuple[str, ...]) -> Iterator[EndingRecord]:
    """No edit of what is judged."""
    if production:
        return
    if other:
        yield EndingRecord(Ending.EDITS_OUTSIDE_ONLY, run.seconds, ", ".join(other[:5]))
    else:
        yield EndingRecord(Ending.NO_PRODUCTION_EDIT, run.seconds, "")
