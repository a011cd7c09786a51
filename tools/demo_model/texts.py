"""The chat template, and prompts as the server renders them with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment

from tools.demo_model.places import CHAT_TEMPLATE


def chat_template() -> str:
    """The chat template that goes into the file."""
    return CHAT_TEMPLATE.read_text(encoding="utf-8").rstrip("\n")


def render(messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], *, ask: bool) -> str:
    """The prompt text for ``messages``, as the server renders it; with ``ask`` it ends where the model's reply begins.

    Arguments of tool calls are shown as objects, as llama.cpp does with the JSON text that a client sends.
    """
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    template = environment.from_string(chat_template())
    return template.render(messages=[_parsed(message) for message in messages], tools=tools, add_generation_prompt=ask)


def _parsed(message: dict[str, Any]) -> dict[str, Any]:
    if "tool_calls" not in message:
        return message
    calls = [
        {**call, "function": {**call["function"], "arguments": json.loads(call["function"]["arguments"])}}
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}
