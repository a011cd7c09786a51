"""When an attempt is over for its proxy: requests used up, too many bytes, a loop, or the clock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pytest_agentgrade.attempt.exchange import Cut, Exchange
from pytest_agentgrade.attempt.loops import find_call_loop
from pytest_agentgrade.attempt.proxy_policy import ProxyPolicy

MAX_REFUSED = 500
"""Requests that were not sent on and are recorded all the same; those beyond are only counted."""
MAX_REQUEST_BYTES = 64 * 1024 * 1024
"""Of the bodies of all requests of an attempt: they are kept in memory and on disk."""
MAX_REQUEST_PARTS = 2_000_000
"""Values in all of them, which take some 70 bytes each; a hundred turns of an ordinary agent have a tenth of it."""


class Over(NamedTuple):
    """Why no request is sent on any more."""

    cut: Cut
    text: str


class Allowance:
    """What has been used of an attempt's limits. No limit of the server's own is known here."""

    def __init__(self, policy: ProxyPolicy) -> None:
        self._policy = policy
        self._sent = {False: 0, True: 0}
        self._bytes = 0
        self._parts = 0
        self.seen = 0
        """Requests so far, refused ones included."""
        self.over: Over | None = None
        """From then on every request is refused."""

    @property
    def refused_too_often(self) -> bool:
        """Whether so many requests were refused that more of them are not recorded."""
        return self.seen - sum(self._sent.values()) > MAX_REFUSED

    def add_bytes(self, count: int) -> None:
        """Count a request's body."""
        self._bytes += count

    def add_parts(self, count: int) -> None:
        """Count the values of a request's body."""
        self._parts += count

    def take(self, *, auxiliary: bool) -> Over | None:
        """Use up one request; or say why it must not be sent on."""
        if (over := self._refusal(auxiliary)) is None:
            self._sent[auxiliary] += 1
        return over

    def _refusal(self, auxiliary: bool) -> Over | None:
        used_up = Over(Cut.REFUSED, f"the attempt's {self._policy.max_turns} requests are used up")
        if self.over is None and not auxiliary and self._sent[False] >= self._policy.max_turns:
            self.over = used_up
        if self.over is None and self._bytes > MAX_REQUEST_BYTES:
            self.over = Over(Cut.REFUSED, f"the attempt's requests have more than {MAX_REQUEST_BYTES} bytes")
        if self.over is None and self._parts > MAX_REQUEST_PARTS:
            self.over = Over(Cut.REFUSED, f"the attempt's requests have more than {MAX_REQUEST_PARTS} values")
        if self.over is None and auxiliary and self._sent[True] >= self._policy.max_turns:
            return used_up
        return self.over


def loop_in_calls(exchanges: Iterable[Exchange]) -> str | None:
    """The loop in the tool calls of whole replies, in words; None without one. They come by number."""
    calls = [call for exchange in exchanges if exchange.cut is None for call in exchange.tool_calls]
    loop = find_call_loop(calls)
    return None if loop is None else f"tool calls go round in circles: {loop}"
