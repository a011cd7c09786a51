"""Conversations as the built-in agent leads them: its own tools work on a real copy of the workspace."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pytest_agentgrade.attempt.agents import toolloop_program as agent
from tools.demo_model.conversations import copy_workspace
from tools.demo_model.routes import Loop, Route, Step
from tools.demo_model.texts import render

LOOP_COPIES = 400
"""More copies of a loop's line than any token cap lets through."""


@dataclass(frozen=True)
class Turn:
    """One reply: the prompt that asks for it, and what the model says, its end mark included (a loop has none)."""

    prompt: str
    reply: str
    thinks: bool
    """The reply has reasoning, which later prompts do not show."""
    loops: bool


@dataclass(frozen=True)
class Transcript:
    """One conversation."""

    task: str
    text: str
    """All messages as the last request renders them: replies without their thoughts."""
    turns: tuple[Turn, ...]


def play(route: Route, vary: Callable[[str], str] = str) -> Transcript:
    """Lead the conversation of ``route``; each tool's result goes through ``vary``."""
    with tempfile.TemporaryDirectory(prefix="demo-model-") as folder:
        copy_workspace(route, Path(folder))
        return _play(route, agent.Workspace(Path(folder)), vary)


def reply_text(step: Step | Loop) -> str:
    """What the model says in one step, from its first token to its last."""
    if isinstance(step, Loop):
        return f"<think>\n{step.thought}{step.line * LOOP_COPIES}"
    call = f'{{"name": "{step.tool}", "arguments": {json.dumps(step.arguments, ensure_ascii=False)}}}'
    thought = f"<think>\n{step.thought}\n</think>\n\n" if step.thought else ""
    return f"{thought}<tool_call>\n{call}\n</tool_call><|im_end|>"


def _play(route: Route, workspace: agent.Workspace, vary: Callable[[str], str]) -> Transcript:
    conversation = agent.Conversation(route.task.prompt)
    turns = []
    for step in route.steps:
        prompt = render(conversation.messages, agent.TOOLS, ask=True)
        turns.append(Turn(prompt, reply_text(step), bool(step.thought), isinstance(step, Loop)))
        _answer(conversation, workspace, step, vary)
    text = render(conversation.messages, agent.TOOLS, ask=False)
    if not all(text.startswith(turn.prompt) for turn in turns):
        raise ValueError(f"the chat template does not only append ({route.task.name})")
    return Transcript(route.task.name, text, tuple(turns))


def _answer(
    conversation: agent.Conversation, workspace: agent.Workspace, step: Step | Loop, vary: Callable[[str], str]
) -> None:
    if isinstance(step, Loop):
        conversation.reply(agent.Reply(finish_reason="length"))
        conversation.say(agent.CUT_OFF)
        return
    call = agent.Call(step.tool, json.dumps(step.arguments, ensure_ascii=False))
    for key, made in conversation.reply(agent.Reply(calls={0: call})):
        result, good = agent.use(workspace, made, cut_off=False)
        if not good:
            raise ValueError(f"step {step.tool} fails: {result}")
        conversation.result(key, vary(result))
