"""How the scripted model says the same things to each real agent: by its tools, or in its text format."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_agentgrade.attempt.agents.base import message_text
from tests.graded import PROJECT
from tests.scripted_server import LOOP, OVERFLOW, Conversation, Say, Script, references, use

FILES = references(PROJECT / "task_fixtures", PROJECT / "hidden_checks")
SERVER_ERROR = Say(status=500, error={"code": 500, "message": "no memory", "type": "server_error"})
TOO_LONG = {
    "code": 400, "type": "BadRequestError",
    "message": "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens.",
}  # fmt: skip
"""As vLLM says it: some agents compact their conversation when they read this, and not when llama.cpp says it."""
SUMMARY = "I asked you to look around. <state_snapshot><overall_goal>Look around.</overall_goal></state_snapshot>"
TESTS = "python3 -m unittest discover -s tests -t ."


@dataclass(frozen=True)
class Tongue:
    """The replies that make an agent do something."""

    run: Callable[[str], Say]
    """Run a shell command."""
    write: Callable[[str, str], Say]
    """Write a file: relative path, content."""
    done: Say
    """Say that the task is done."""
    read: Callable[[str], Say] | None = None
    """Read a file by its relative path, for an agent that has it read before it is written."""
    opening: int = 0
    """Replies that the agent itself puts before the first one."""

    def step(self, conversation: Conversation) -> int:
        """Replies given so far."""
        return conversation.step - self.opening

    def solve(self, last: Sequence[Say] = ()) -> Script:
        """Look around, write the task's reference, run the tests, then ``last`` or the end."""

        def script(conversation: Conversation) -> Say:
            files = sorted(FILES(asked(conversation)).items())
            reads = [self.read(path) for path, _ in files if self.read]
            writes = [*reads, *(self.write(path, text) for path, text in files)]
            steps = [self.run("ls"), *writes, *(last or (self.run(TESTS), self.done))]
            return steps[min(self.step(conversation), len(steps) - 1)]

        return script

    def then(self, say: Say) -> Script:
        """Look around, then ``say`` for ever."""
        return lambda conversation: self.run("ls") if self.step(conversation) == 0 else say

    def compact(self) -> Script:
        """Look around; whatever is asked then is too long, but for a summary."""
        overflow = self.then(Say(status=400, error=TOO_LONG))
        return lambda conversation: overflow(conversation) if _may_act(conversation) else Say(content=SUMMARY)

    def scripts(self) -> dict[str, Script]:
        """By name, what the real agents are put through."""
        return {
            "solve": self.solve(),
            "budget": self.then(Say(reasoning=LOOP * 4_000)),
            "overflow": self.then(Say(status=400, error=OVERFLOW)),
            "repeat": self.then(self.run("ls")),
            "slow": self.solve([Say(reasoning=LOOP * 400, tokens_per_second=10.0)]),
            "hang": self.then(Say(content="never", prompt_seconds=10_000.0)),
            "error_500": self.then(SERVER_ERROR),
            "cut": self.then(Say(content=LOOP, drop_after=5)),
            "compact": self.compact(),
        }


@dataclass(frozen=True)
class TextTongue(Tongue):
    """For an agent whose model only talks: the edit is the reply, and the first reply is the whole work."""

    def scripts(self) -> dict[str, Script]:
        """Without what needs tools: a call repeated. One block that fits nowhere has the agent ask again."""
        kept = {
            "budget": Say(reasoning=LOOP * 4_000),
            "overflow": Say(status=400, error=OVERFLOW),
            "hang": Say(content="never", prompt_seconds=10_000.0),
            "error_500": SERVER_ERROR,
            "cut": Say(content=LOOP, drop_after=5),
        }
        return {"solve": _as_blocks, "slow": _slowly_mended, **{name: _always(say) for name, say in kept.items()}}


def _always(say: Say) -> Script:
    return lambda _conversation: say


def _may_act(conversation: Conversation) -> bool:
    """Whether the agent lets the model call tools: a request for a summary or a title has none."""
    return bool(conversation.body.get("tools"))


def _as_blocks(conversation: Conversation) -> Say:
    """The reference as SEARCH/REPLACE blocks; a summary where one is wanted."""
    if "summarize this partial conversation" in first_text(conversation.body):
        return Say(content=SUMMARY)
    workspace = PROJECT / "task_fixtures" / "sqlite_transfers" / "workspace"
    blocks = [
        f"{path}\n```python\n<<<<<<< SEARCH\n{(workspace / path).read_text()}=======\n{text}>>>>>>> REPLACE\n```"
        for path, text in FILES(asked(conversation)).items()
    ]
    return Say(content="I change this:\n\n" + "\n\n".join(blocks))


def _slowly_mended(conversation: Conversation) -> Say:
    """The reference and one block that does not fit; asked to mend that, the model goes on for ever."""
    if "failed to match" in asked(conversation):
        return Say(reasoning=LOOP * 400, tokens_per_second=10.0)
    path = next(iter(FILES(asked(conversation))))
    amiss = f"{path}\n```python\n<<<<<<< SEARCH\nno such line\n=======\nnor this one\n>>>>>>> REPLACE\n```"
    return Say(content=f"{_as_blocks(conversation).content}\n\n{amiss}")


def first_text(body: Mapping[str, Any]) -> str:
    """Text of the first message of a request: each agent has one of its own for each thing that it asks for."""
    return message_text(body["messages"][0])


def asked(conversation: Conversation) -> str:
    """All that was said to the model: agents put the task in different places."""
    return "\n".join(map(message_text, conversation.body["messages"]))


def _here_document(path: str, text: str) -> str:
    return f"cat > {shlex.quote(path)} <<'THE_END'\n{text}THE_END"


TONGUES = {
    "opencode": Tongue(
        run=lambda command: use("bash", command=command, description="run it"),
        write=lambda path, text: use("write", filePath=f"/work/{path}", content=text),
        done=Say(content="The task is done."),
    ),
    "qwen-code": Tongue(
        run=lambda command: use("run_shell_command", command=command, is_background=False, description="run it"),
        write=lambda path, text: use("write_file", file_path=f"/work/{path}", content=text),
        done=Say(content="The task is done."),
        read=lambda path: use("read_file", file_path=f"/work/{path}"),
        opening=1,
    ),
    "mini-swe-agent": Tongue(
        run=lambda command: use("bash", command=command),
        write=lambda path, text: use("bash", command=_here_document(path, text)),
        done=use("bash", command="echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
    ),
    "aider": TextTongue(run=Say, write=lambda _path, text: Say(content=text), done=Say(content="The task is done.")),
}
