"""Every hidden check against drivers that answer at random: whatever comes back is a failure, never an error or a pass.

An error would be a way out: an attempt with an error is not counted. The drivers are made here, in this process; the
checks ask them thousands of questions a second.
"""

from __future__ import annotations

import ast
import random
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.errors import AgentGradeError
from pytest_agentgrade.grading import wire
from pytest_agentgrade.grading.candidate import Candidate
from pytest_agentgrade.grading.local import LocalTransport
from pytest_agentgrade.grading.session import Limits
from pytest_agentgrade.grading.solutions import reference_tree
from pytest_agentgrade.grading.suite import Check, load_checks
from pytest_agentgrade.grading.transport import TransportEnd, Who
from pytest_agentgrade.grading.verdict import Outcome, classify
from tests.graded import TASKS, the_task

ROUNDS, LIES = 30, 1
"""Random drivers, and right ones with one lie, for each check."""
PLAIN: list[Any] = [
    None, True, False, "", "zz", "\ud800", "\x1b[2J\u202e", "BEGIN", ["i", "0x0"], ["i", "0x1"], ["i", "-0x1"],
    ["i", hex(1 << 70)], ["i", hex(1 << 20_000)], ["f", "nan"], ["f", "inf"], ["f", "-0x0.0p+0"], ["b", ""],
    ["b", "AAAA"], ["d", "0"], ["d", "NaN"], ["d", "sNaN"], ["d", "-Infinity"], ["d", "1E+999999"], ["D", "2026-01-01"],
    ["T", "2026-01-01T00:00:00"], ["l", []], ["t", []], ["s", []], ["z", []], ["m", []],
    ["l", ["a", None, ["i", "0x1"]]],
    ["m", [["a", None], [None, "a"]]], ["l", [["h", 0], ["h", 1]]], ["s", ["a", ["t", ["b"]]]], ["l", [["l", []]]],
]  # fmt: skip
"""Values that no check expects."""


class OddDriver:
    """A transport whose other end is a random generator; it never sleeps."""

    scratch = "/scratch"

    def __init__(self, task: Task, number: int) -> None:
        self.random = random.Random(number)
        self.own = own_errors(task)
        self.queue = deque([wire.pack({"kind": "hello"})])
        self.seen: list[Any] = []
        self.lent: list[int] = []
        self.turns: list[dict[str, Any]] = []
        self.calls = 0

    def send(self, data: bytes, _timeout: float) -> None:
        message = wire.unpack(data[wire.HEADER :])
        if "op" in message:
            if message["op"] in ("tree", "protect", "ready", "end"):
                value = ["l", self.own] if message["op"] == "protect" else None
                self._say(message, {"kind": "answer", "value": value})
                return
            self._learn([*message["args"], *message["kwargs"].values()])
            self.turns.append(message)
        self._go_on(message["lane"])

    def receive(self, _timeout: float) -> bytes:
        if not self.queue:
            raise TimeoutError
        return self.queue.popleft()

    def ending(self) -> TransportEnd:
        return TransportEnd(Who.CANDIDATE, "its process ended")

    def close(self) -> None: ...

    def _go_on(self, lane: int) -> None:
        turn = next(turn for turn in reversed(self.turns) if turn["lane"] == lane)
        chance = self.random.random()
        if self.lent and chance < 0.3 and self.calls < 60:
            self.calls += 1
            given = [self._value() for _ in range(self.random.choice([0, 0, 1, 2, 2, 3]))]
            named = {"value": self._value()} if self.random.random() < 0.1 else {}
            to = self.random.choice(self.lent)
            self._say(turn, {"kind": "upcall", "n": self.calls, "to": to, "args": given, "kwargs": named})
        elif chance < 0.95:
            self.turns.remove(turn)
            self._say(turn, self._reply(turn))

    def _reply(self, turn: dict[str, Any]) -> dict[str, Any]:
        if self.random.random() < 0.25:
            kinds = self.random.sample(
                [*self.own, "builtins:OSError", "builtins:StopIteration", "sqlite3:IntegrityError"], 1
            )
            kinds = kinds * self.random.choice([1, 1, 1, 0, 2])
            text = self.random.choice(["database is locked", "\ud800\x1b", None, 5])
            return {
                "kind": "raise", "kinds": kinds, "type": "E\x1b", "text": text, "args": self._value(),
                "error": self.random.choice([0, None, "x", -1, True]),
            }  # fmt: skip
        made = turn["op"] in ("call", "iter", "connect") and self.random.random() < 0.8
        return {"kind": "answer", "value": ["h", self.random.randrange(4)] if made else self._value()}

    def _value(self) -> Any:
        return self.random.choice(self.seen[-20:] if self.seen and self.random.random() < 0.5 else PLAIN)

    def _learn(self, trees: list[Any]) -> None:
        for tree in trees:
            if isinstance(tree, list) and tree[0] in ("c", "it"):
                self.lent.append(tree[1])
            elif not (isinstance(tree, list) and tree[0] == "e"):
                self.seen.append(tree)

    def _say(self, turn: dict[str, Any], message: dict[str, Any]) -> None:
        self.queue.append(wire.pack({"lane": turn["lane"], "id": turn["id"], **message}))


def own_errors(task: Task) -> list[str]:
    """The names that the real driver learns from the protected module."""
    source = ast.parse(task.base[f"{task.package}/errors.py"].data)
    return [f"{task.package}.errors:{node.name}" for node in source.body if isinstance(node, ast.ClassDef)]


def outcome(task: Task, check: Check, number: int) -> tuple[Outcome, str]:
    limits = Limits(question=0.2, check=20.0)
    try:
        with Candidate(OddDriver(task, number), task, task.base, number, limits) as candidate:
            check.function(candidate)
    except (Exception, AgentGradeError) as error:
        found = classify(error)
        return found.outcome, found.reason
    return Outcome.PASSED, ""


@pytest.mark.parametrize("name", TASKS)
def test_no_answer_makes_an_error_or_a_pass(name: str) -> None:
    task = the_task(name)
    odd: list[tuple[str, int, Outcome, str]] = []
    for check in load_checks(task):
        for number in range(ROUNDS):
            found, reason = outcome(task, check, number)
            assert reason.replace("\n", "").isprintable() and len(reason) < 30_000
            if found is not Outcome.FAILED:
                odd.append((check.name, number, found, reason))
    assert odd == []


class OneLie(LocalTransport):
    """The real driver with the right solution, one of whose messages to the host carries another value."""

    def __init__(self, place: int, value: Any) -> None:
        super().__init__()
        self._place, self._value = place, value
        self._raw = b""

    def receive(self, timeout: float) -> bytes:
        while len(self._raw) < wire.HEADER or len(self._raw) < wire.HEADER + wire.frame_length(
            self._raw[: wire.HEADER]
        ):
            data = super().receive(timeout)
            if not data:
                return b""
            self._raw += data
        end = wire.HEADER + wire.frame_length(self._raw[: wire.HEADER])
        message, self._raw = wire.unpack(self._raw[wire.HEADER : end]), self._raw[end:]
        self._place -= 1
        if self._place == 0:
            message.update({key: self._value for key in ("value", "args") if key in message})
        return wire.pack(message)


@pytest.mark.parametrize("name", TASKS)
def test_one_lie_makes_no_error(name: str) -> None:
    task, lies = the_task(name), random.Random(name)
    tree = reference_tree(task)

    def judged(check: Check) -> tuple[str, str]:
        transport = OneLie(lies.randrange(5, 40), lies.choice([["h", 0], *PLAIN]))
        try:
            with Candidate(transport, task, tree, 5, Limits(question=10, check=30)) as candidate:
                check.function(candidate)
        except Exception as error:
            found = classify(error)
            return check.name, found.reason if found.outcome is Outcome.ERROR else ""
        finally:
            transport.close()
        return check.name, ""

    with ThreadPoolExecutor(2) as workers:
        ends = list(workers.map(judged, load_checks(task) * LIES))
    assert [end for end in ends if end[1]] == []
