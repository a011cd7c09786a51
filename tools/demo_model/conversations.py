"""Talk to a served model as the built-in agent does, and see whether it stays on its route."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_agentgrade.attempt.agents import toolloop_program as agent
from pytest_agentgrade.attempt.server.httpcalls import Unanswered, post_json
from tools.demo_model.routes import Loop, Route, Step

SAMPLING = {"temperature": 1.0, "top_p": 0.95, "top_k": 20, "min_p": 0.0}
"""The study's."""


@dataclass
class Conversation:
    """What came of one conversation."""

    task: str
    strayed: str = ""
    """Where the model left its route, in words; empty when it did not."""
    tokens: int = 0
    drafted: int = 0
    accepted: int = 0
    cached: int = 0
    """Prompt tokens taken from a cache: none should be."""
    finish_reasons: list[str] = field(default_factory=list)
    changed: dict[str, bytes] = field(default_factory=dict)
    """Files that differ from the task's workspace at the end."""


def converse(
    url: str,
    route: Route,
    *,
    seed: int,
    cap: int,
    vary: Callable[[str], str] = str,
    sampling: dict[str, float] = SAMPLING,
) -> Conversation:
    """Lead the conversation on ``route`` until it ends or the model strays; each reply has at most ``cap`` tokens."""
    with tempfile.TemporaryDirectory(prefix="demo-model-") as folder:
        copy_workspace(route, Path(folder))
        talk = Conversation(route.task.name)
        _converse(talk, url, route, agent.Workspace(Path(folder)), {**sampling, "seed": seed, "max_tokens": cap}, vary)
        talk.changed = _changed(route, Path(folder))
    return talk


def copy_workspace(route: Route, folder: Path) -> None:
    """Lay the task's initial workspace into ``folder``."""
    for path, file in route.task.base.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.data)


def _converse(
    talk: Conversation,
    url: str,
    route: Route,
    workspace: agent.Workspace,
    settings: dict[str, Any],
    vary: Callable[[str], str],
) -> None:
    history = agent.Conversation(route.task.prompt)
    for number, step in enumerate(route.steps, 1):
        body = {"messages": history.messages, "tools": agent.TOOLS, "cache_prompt": False, **settings}
        try:
            answer = post_json(url, "/v1/chat/completions", body, timeout=600)
        except Unanswered as error:
            talk.strayed = f"reply {number}: {error}"
            return
        _count(talk, answer)
        reply = _reply(answer["choices"][0])
        talk.strayed = _difference(number, step, reply)
        if talk.strayed:
            return
        calls = history.reply(reply)
        for key, call in calls:
            history.result(key, vary(agent.use(workspace, call, cut_off=False)[0]))
        if not calls:
            history.say(agent.CUT_OFF)


def _count(talk: Conversation, answer: dict[str, Any]) -> None:
    timings = answer["timings"]
    talk.tokens += answer["usage"]["completion_tokens"]
    talk.drafted += timings.get("draft_n", 0)
    talk.accepted += timings.get("draft_n_accepted", 0)
    talk.cached += timings["cache_n"]
    talk.finish_reasons.append(answer["choices"][0]["finish_reason"])


def _reply(choice: dict[str, Any]) -> agent.Reply:
    reply = agent.Reply(choice["message"].get("content") or "", finish_reason=choice["finish_reason"])
    for index, call in enumerate(choice["message"].get("tool_calls") or ()):
        reply.calls[index] = agent.Call(call["function"]["name"], call["function"]["arguments"])
    return reply


def _difference(number: int, step: Step | Loop, reply: agent.Reply) -> str:
    if isinstance(step, Loop):
        looped = reply.finish_reason == "length" and not reply.calls
        return "" if looped else f"reply {number}: left the loop ({reply.finish_reason})"
    made = [(call.name, _arguments(call.arguments)) for call in reply.calls.values()]
    if made == [(step.tool, step.arguments)]:
        return ""
    return f"reply {number}: {step.tool} was due, got {str(made)[:300]} {reply.content[:100]!r} ({reply.finish_reason})"


def _arguments(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _changed(route: Route, folder: Path) -> dict[str, bytes]:
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    base = route.task.base
    return {path: data for path, data in found.items() if path not in base or base[path].data != data}
