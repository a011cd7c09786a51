"""Who is in turn, and whose fault an end is: against a driver made of prepared bytes."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_agentgrade.errors import CandidateFailed, HostError, TaskAuthorError
from pytest_agentgrade.grading import wire
from pytest_agentgrade.grading.session import Limits, Session, Turn
from pytest_agentgrade.grading.transport import TransportEnd, Who


class Script:
    """A transport that says what it is told to, after each question; time passes only here."""

    scratch = "/scratch"

    def __init__(self, *replies: Any, end: TransportEnd | None = None) -> None:
        self.now = 0.0
        self.sent: list[dict[str, Any]] = []
        self.end = end
        self.broken = False
        self._replies = list(replies)
        self._waiting: list[bytes] = []

    def send(self, data: bytes, _timeout: float) -> None:
        self.sent.append(wire.unpack(data[wire.HEADER :]))
        reply = self._replies.pop(0) if self._replies else b""
        for one in reply if isinstance(reply, list) else [reply]:
            self.say(one)

    def say(self, one: Any) -> None:
        if isinstance(one, dict):
            one = wire.pack({"lane": 0, "id": self.sent[-1].get("id") if self.sent else None, **one})
        if one:
            self._waiting.append(one)

    def receive(self, timeout: float) -> bytes:
        if self._waiting:
            self.now += 0.25
            return self._waiting.pop(0)
        if self.end is not None:
            return b""
        self.now += timeout
        raise TimeoutError

    def ending(self) -> TransportEnd:
        assert self.end is not None
        return self.end

    def complaint(self) -> str:
        return "ImportError: no sqlite3" if self.broken else ""

    def close(self) -> None: ...


ANSWER = {"kind": "answer", "value": True}
LOST = TransportEnd(Who.CANDIDATE, "its process ended with exit code 0")


def session(script: Script, limits: Limits | None = None) -> Session:
    def host_call(turn: Turn, message: dict[str, Any]) -> None:
        one.reply_upcall(turn, {"value": message["args"][0]})

    one = Session(script, limits or Limits(question=20, check=60), host_call, clock=lambda: script.now)
    return one


def ask(one: Session, lane: int = 0) -> dict[str, Any]:
    return one.wait(one.post(lane, "len", [["l", []]], {}))


def test_answer_carries_the_questions_token() -> None:
    script = Script(ANSWER, ANSWER)
    one = session(script)
    assert ask(one)["value"] is True
    assert ask(one)["value"] is True
    assert script.sent[0]["id"] != script.sent[1]["id"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (b"PASSED\n", "no message"),
        (b"\0\0\0\x04nope", "not JSON"),
        (b"\0\0\0\x02[]", "not an object"),
        ({**ANSWER, "id": "0" * 16}, "no known kind"),
        ({**ANSWER, "lane": 1}, "out of turn"),
        ({**ANSWER, "lane": True}, "out of turn"),
        ({**ANSWER, "lane": "0"}, "out of turn"),
        ({"kind": "hello"}, "no known kind"),
        ({"kind": "upcall", "n": "1"}, "no known kind"),
        ({"kind": ["answer"]}, "no known kind"),
        ({"kind": "refused", "reason": "\x1b[2J"}, r"\\x1b"),
        ({"kind": "refused", "reason": 5}, "nothing that can be read"),
    ],
)
def test_odd_reply_is_the_candidates_failure(reply: Any, reason: str) -> None:
    with pytest.raises(CandidateFailed, match=reason):
        ask(session(Script(reply)))


def test_second_answer_fails_the_next_question() -> None:
    one = session(Script([ANSWER, ANSWER], ANSWER))
    ask(one)
    with pytest.raises(CandidateFailed):
        ask(one)
    with pytest.raises(CandidateFailed):  # and all that follow
        ask(one)


def test_stray_bytes_after_the_last_answer_are_seen() -> None:
    one = session(Script([ANSWER, b"PASSED"]))
    ask(one)
    with pytest.raises(CandidateFailed, match="without being asked"):
        one.expect_silence()
    quiet = session(Script(ANSWER))
    ask(quiet)
    quiet.expect_silence()


def test_end_is_the_candidates_unless_the_engine_says_otherwise() -> None:
    with pytest.raises(CandidateFailed, match="exit code 0"):
        ask(session(Script(end=LOST)))
    with pytest.raises(HostError, match="no space left"):
        ask(session(Script(end=TransportEnd(Who.HOST, "no space left on device"))))


def test_before_the_greeting_everything_is_the_hosts() -> None:
    for script in (Script(), Script(end=LOST)):
        with pytest.raises(HostError, match="did not start"):
            session(script).greet()
    broken = Script(end=LOST)
    broken.broken = True
    with pytest.raises(HostError, match="did not start: ImportError: no sqlite3"):
        session(broken).greet()
    odd = Script()
    odd.say(b"\0\0\0\x02{}")
    with pytest.raises(HostError, match="odd greeting"):
        session(odd).greet()


def test_silence_and_dribble_run_into_the_questions_limit() -> None:
    script = Script()
    with pytest.raises(CandidateFailed, match="no answer in time"):
        ask(session(script))
    assert script.now == 20
    dribble = Script([bytes([byte]) for byte in wire.pack({"kind": "answer", "value": "x" * 500})])
    with pytest.raises(CandidateFailed, match="no answer in time"):
        ask(session(dribble))
    assert dribble.now <= 21


def test_check_has_a_limit_of_its_own() -> None:
    script = Script(ANSWER)
    one = session(script, Limits(question=20, check=30))
    one.start_clock()
    ask(one)
    script.now = 25.0
    with pytest.raises(CandidateFailed, match="no answer in time"):
        ask(one)
    assert script.now == 30


def test_upcalls_without_end_run_into_the_checks_limit() -> None:
    upcall = {"kind": "upcall", "n": 1, "to": 0, "args": [None], "kwargs": {}}
    script = Script(*[upcall] * 1_000)
    one = session(script, Limits(question=20, check=60))
    one.start_clock()
    with pytest.raises(CandidateFailed, match="no answer in time"):
        ask(one)
    assert script.now <= 61


def test_upcall_is_answered_under_its_number() -> None:
    script = Script({"kind": "upcall", "n": 4, "to": 0, "args": ["x"], "kwargs": {}}, ANSWER)
    one = session(script)
    turn = one.post(0, "invoke", [], {})
    script.sent.append(script.sent[0])  # the answer carries the question's token, not the reply's
    with pytest.raises(CandidateFailed):
        one.wait(turn)
    assert script.sent[-1] == {"value": "x", "lane": 0, "n": 4}


def test_busy_lane_cannot_be_asked() -> None:
    one = session(Script(ANSWER, ANSWER))
    one.post(1, "len", [], {})
    with pytest.raises(TaskAuthorError, match="still owes an answer"):
        one.post(1, "len", [], {})


def test_quiet_tells_silence_from_an_answer() -> None:
    script = Script(b"", {**ANSWER, "lane": 1})
    one = session(script)
    turn = one.post(1, "len", [], {})
    assert one.quiet(turn, 1.0) is True
    script.say({**ANSWER, "lane": 1})
    assert one.quiet(turn, 1.0) is False
    assert one.wait(turn)["value"] is True
