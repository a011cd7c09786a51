"""The agent mini-swe-agent (PyPI): one bash tool, replies that are not streamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_agentgrade.attempt.agents.base import EXCHANGE_PLACE, HOME_PLACE, MODEL_URL, PROMPT_PLACE, AgentEvent
from pytest_agentgrade.attempt.agents.packaged import PackagedAgent
from pytest_agentgrade.attempt.agents.packages import PLACE

_PROGRAM = "mini_start.py"
_START = f"""\
import json, pathlib, sys
sys.path.insert(0, "/{PLACE}/lib")
trajectory = pathlib.Path.home() / "trajectory.json"
sys.argv = [
    "mini", "-y", "--exit-immediately", "-l", "0", "-m", "openai/local", "-o", str(trajectory),
    "-t", pathlib.Path("{PROMPT_PLACE}").read_text(encoding="utf-8"),
    "-c", "mini.yaml", "-c", "model.model_kwargs.api_base={MODEL_URL}",
]
from minisweagent.run.mini import app
try:
    app()
finally:
    info = json.loads(trajectory.read_text()).get("info", {{}}) if trajectory.exists() else {{}}
    print(json.dumps({{"event": "end", "exit_status": str(info.get("exit_status"))}}), flush=True)
"""


@dataclass(frozen=True)
class MiniSweAgent(PackagedAgent):
    """``mini`` on the prompt, without a limit or a question of its own. All its requests serve the task."""

    name = "mini-swe-agent"
    adapter = 1
    kept = ("trajectory.json",)

    def command(self) -> tuple[str, ...]:
        """By a program that gives the prompt as an argument, and tells in the end what the trajectory says."""
        return ("python3", "-I", "-B", f"{EXCHANGE_PLACE}/{_PROGRAM}")

    def files(self) -> Mapping[str, bytes]:
        """That program."""
        return {_PROGRAM: _START.encode()}

    def env(self) -> Mapping[str, str]:
        """No setup dialogue, no price list from the network."""
        return {
            "MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors", "MSWEA_SILENT_STARTUP": "1",
            "MSWEA_GLOBAL_CONFIG_DIR": f"{HOME_PLACE}/.config/mini", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "OPENAI_API_KEY": "none",
        }  # fmt: skip

    def finished(self, events: Sequence[AgentEvent]) -> bool | None:
        """Whether the model submitted its work."""
        ends = [event.data for event in events if event.data.get("event") == "end"]
        return ends[-1].get("exit_status") == "Submitted" if ends else None
