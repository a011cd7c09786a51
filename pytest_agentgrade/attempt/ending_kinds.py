"""The words for how an attempt ends, each with its definition and the sign it is told by.

``docs/endings.md`` is made from these: ``python -m pytest_agentgrade.attempt.ending_kinds > docs/endings.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

CONTEXT_SLACK = 64
"""Tokens short of the context at which a server may call it full: a speculating one keeps room for its drafts."""


class Ending(Enum):
    """Everything that can happen to an attempt, with its definition. An attempt has one or more of these."""

    RESPONSE_BUDGET_IN_REASONING = (
        "response_budget_in_reasoning",
        "a response used up its tokens while still reasoning",
        "`finish_reason` is `length`, the tokens reach the cap, and there is neither text nor tool call",
    )
    RESPONSE_BUDGET_IN_CONTENT = (
        "response_budget_in_content",
        "a response used up its tokens in its visible text",
        "`length` at the cap, with text and no tool call; a loop in the text is named",
    )
    RESPONSE_BUDGET_IN_TOOL_CALL = (
        "response_budget_in_tool_call",
        "a response used up its tokens inside a tool call",
        "`length` at the cap with a tool call; also `tool_calls` at the cap with arguments that are no JSON object",
    )
    CONTEXT_FULL = (
        "context_full",
        "prompt and response together filled the context",
        f"`length` short of the cap, prompt and response within {CONTEXT_SLACK} tokens of the context",
    )
    PROMPT_OVERFLOW = (
        "prompt_overflow",
        "the server refused a prompt longer than its context",
        "an error of type `exceed_context_size_error`, or one that says `maximum context length`; with an error "
        "status, or inside a stream or body of status 200",
    )
    SERVER_LIMIT = (
        "server_limit",
        "the server cut a response by length, though neither budget nor context was used up",
        "`length` short of both; a time limit of the server, for example",
    )
    TASK_CLOCK = (
        "task_clock",
        "the task clock ran out",
        "the agent was killed by the clock, or a request of it was cut or refused because of it",
    )
    TURN_LIMIT = ("turn_limit", "the agent used up its requests", "a request was refused because of it")
    TOOL_CALL_UNPARSED = (
        "tool_call_unparsed",
        "the model wrote a tool call that could not be read as one",
        "a call without a name, or with arguments that are no JSON object; a call's syntax in the text; or the "
        "server's error that output `does not match the expected` format",
    )
    TOOL_CALL_IN_REASONING = (
        "tool_call_in_reasoning",
        "the model wrote a tool call inside its reasoning, where none counts",
        "a reply that ended by itself with neither text nor tool call, and a call's syntax in its reasoning",
    )
    EMPTY_REPLY = (
        "empty_reply",
        "a response ended by itself with neither text nor tool call",
        "white space is no text; reasoning may be there",
    )
    STREAM_BROKEN = (
        "stream_broken",
        "a response broke off, or carried an error, though the server lived on",
        "the stream ended before `finish_reason` and `[DONE]`, or held an error that has no ending of its own; a "
        "connection dropped without an answer",
    )
    SERVER_ERROR = (
        "server_error",
        "the server answered a request with an error",
        "an error status that has no ending of its own",
    )
    SERVER_DIED = (
        "server_died",
        "the server was gone before the attempt was over",
        "its process had ended, or nothing listened any more; from the first request on this is the mode's doing",
    )
    REASONING_LOOP = (
        "reasoning_loop",
        "the reasoning of a response went round in circles",
        "the rules of `loops.md`, on every response, cut or not",
    )
    TOOL_CALL_LOOP = (
        "tool_call_loop",
        "the model made the same tool calls over and over",
        "one call with equal arguments five times in a row, or two in turn three times each",
    )
    LOOP_ABORTED = (
        "loop_aborted",
        "the attempt was cut because of a loop, found while it ran",
        "only with `abort_loops`: a response was cut, or a request refused, by the rules of `loops.md`; time and token "
        "counts of the attempt are lower bounds",
    )
    AGENT_HUNG_UP = (
        "agent_hung_up",
        "the agent broke off a response by itself",
        "it closed the connection of a running response and lived on",
    )
    FINISHED = (
        "finished",
        "the model said that the task was done",
        "as the agent reports it; else the last reply is text that asks for no tool",
    )
    STOPPED = (
        "stopped",
        "the agent ended by itself before the model said that the task was done",
        "its process ended in order, and neither clock nor turn limit made it stop; after an error of the server many "
        "agents exit with 1, which is in order",
    )
    AGENT_CRASHED = (
        "agent_crashed",
        "the agent's program failed",
        "an exit code that no error of the server explains, one of the shell's (126 and up), or killed for output",
    )
    NO_PRODUCTION_EDIT = (
        "no_production_edit",
        "nothing in the workspace was changed",
        "the submission's tree equals the initial one",
    )
    EDITS_OUTSIDE_ONLY = (
        "edits_outside_only",
        "only files that are not judged were changed, such as tests",
        "the tree differs, but in no editable file that is not a test",
    )

    definition: str
    """One clause, for reports."""
    sign: str
    """What it is told by; Markdown."""

    def __new__(cls, value: str, definition: str, sign: str) -> Ending:
        """A member whose value is its name in records."""
        member = object.__new__(cls)
        member._value_ = value
        member.definition, member.sign = definition, sign
        return member


@dataclass(frozen=True)
class AttemptLimits:
    """The limits an attempt ran under."""

    response_tokens: int
    context: int | None
    """Context size in tokens; None where the server does not tell."""
    task_seconds: float
    max_turns: int


class EndingRecord(NamedTuple):
    """One ending."""

    ending: Ending
    at_seconds: float
    """Of the task clock, when it first happened."""
    detail: str
    """For people; escaped."""


_INTRODUCTION = """\
# How attempts end

Made from the code by `python -m pytest_agentgrade.attempt.ending_kinds`; a test keeps it so.

An attempt carries every ending that happened to it, in the order of time, each once, at the moment it first happened.
None of them is a failure by itself: whatever the workspace holds at the end is graded. Beside them a record has the
head room on the limits that were not met: tokens left of the response budget (longest response), tokens left of the
context (longest prompt and response), seconds left of the task clock, requests left of the turn limit.

| ending | definition | told by |
| --- | --- | --- |
"""


def as_markdown() -> str:
    """The text of docs/endings.md."""
    return _INTRODUCTION + "".join(f"| `{one.value}` | {one.definition} | {one.sign} |\n" for one in Ending)


if __name__ == "__main__":
    print(as_markdown(), end="")
