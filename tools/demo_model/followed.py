"""What the model was trained to follow, as one digest: when it changes, the model has to be trained again.

Imports nothing beyond this package and the standard library, so that the test that compares digests runs anywhere.
"""

from __future__ import annotations

import hashlib
import json

from pytest_agentgrade.attempt.agents import toolloop_program as agent
from tools.demo_model.places import CHAT_TEMPLATE
from tools.demo_model.routes import all_routes


def followed() -> dict[str, str]:
    """Name -> SHA-256 of each text that the model sees and that it learnt by heart."""
    texts = {
        "system prompt": agent.SYSTEM_PROMPT,
        "what the agent says after a reply that was cut off": agent.CUT_OFF,
        "tool schemas": json.dumps(agent.TOOLS),
        "chat template": CHAT_TEMPLATE.read_text(encoding="utf-8"),
    }
    for route in all_routes():
        files = {path: file.data.decode("utf-8") for path, file in sorted(route.task.base.items())}
        texts[f"prompt of {route.task.name}"] = route.task.prompt
        texts[f"workspace of {route.task.name}"] = json.dumps(files)
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
