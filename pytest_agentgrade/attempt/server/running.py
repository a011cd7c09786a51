"""A server that is ready, and what one can ask it."""

from __future__ import annotations

import re
from typing import Any

from pytest_agentgrade.attempt.server import httpcalls
from pytest_agentgrade.attempt.server.config import DraftCounters, ServerInfo
from pytest_agentgrade.attempt.server.process import WatchedProcess
from pytest_agentgrade.errors import ServerError

_METRIC = re.compile(
    r"^llamacpp:spec_decode_num_(draft_tokens|accepted_tokens|drafts)_total ([0-9.e+]+)$", re.MULTILINE
)
_AT_POSITION = re.compile(
    r'^llamacpp:spec_decode_num_accepted_tokens_per_pos_total\{position="(\d+)"\} ([0-9.e+]+)$', re.MULTILINE
)


class RunningServer:
    """One ready server; valid inside the ``with launch(...)`` block that made it."""

    def __init__(
        self, url: str, info: ServerInfo, props: dict[str, Any], process: WatchedProcess | None, key: str = ""
    ) -> None:
        self.url = url
        """``http://host:port``, without ``/v1``."""
        self.key = key
        """Its API key, or nothing; belongs into no record."""
        self.info = info
        self._props = props
        self._process = process
        self._peak_rss: int | None = None

    @property
    def pid(self) -> int | None:
        """Of the launched process; None for a URL."""
        return self._process.pid if self._process is not None else None

    @property
    def supports_tools(self) -> bool | None:
        """Whether the chat template knows tools; None when the server does not say."""
        value = (self._props.get("chat_template_caps") or {}).get("supports_tools")
        return value if isinstance(value, bool) else None

    def alive(self) -> bool:
        """Whether the process runs; for a URL, whether it answers."""
        if self._process is not None:
            return not self._process.ended.is_set()
        return answers(self.url, self.key)

    def exit_status(self) -> int | None:
        """None while it runs (and for a URL); its exit code, or minus the number of the signal that killed it."""
        return self._process.exit_status() if self._process is not None else None

    def peak_rss_bytes(self) -> int | None:
        """Largest resident memory seen; stays readable when the process is gone. None for a URL."""
        now = self._process.peak_rss_bytes() if self._process is not None else None
        if now is not None:
            self._peak_rss = now
        return self._peak_rss

    def speculating(self) -> bool | None:
        """What ``/slots`` says; None when it does not say."""
        return slots_speculative(self.url, self.key)

    def metrics(self) -> DraftCounters | None:
        """Draft totals since the start; None when the server does not count them."""
        try:
            text = httpcalls.get_text(self.url, "/metrics", key=self.key)
        except httpcalls.Unanswered:
            return None
        found = {name: int(float(value)) for name, value in _METRIC.findall(text)}
        if len(found) != 3:
            return None
        places = sorted((int(place), int(float(value))) for place, value in _AT_POSITION.findall(text))
        by_place = tuple(value for _, value in places)
        return DraftCounters(found["draft_tokens"], found["accepted_tokens"], found["drafts"], by_place)

    def tokenize(self, text: str) -> int:
        """How many tokens ``text`` is for this model; ServerError when the server cannot say."""
        answer = httpcalls.post_json(self.url, "/tokenize", {"content": text, "add_special": False}, key=self.key)
        tokens = answer.get("tokens") if isinstance(answer, dict) else None
        if not isinstance(tokens, list):
            raise ServerError(f"{self.url}/tokenize did not answer with tokens")
        return len(tokens)

    def log_tail(self, lines: int = 15) -> str:
        """The last lines the server wrote, escaped; empty for a URL."""
        return self._process.log_tail(lines) if self._process is not None else ""


def answers(url: str, key: str = "", timeout: float = 3.0) -> bool:
    """Whether a server is there and ready (a server that knows no ``/health`` page counts as ready)."""
    try:
        httpcalls.get_text(url, "/health", timeout, key=key)
    except httpcalls.Unanswered as error:
        return error.status == 404
    return True


def listens(url: str, key: str = "", timeout: float = 3.0) -> bool:
    """Whether anything answers there, be it only that it is not ready."""
    try:
        httpcalls.get_text(url, "/health", timeout, key=key)
    except httpcalls.Unanswered as error:
        return error.status is not None
    return True


def read_props(url: str, key: str = "") -> dict[str, Any]:
    """``/props``; empty when there is no such page."""
    try:
        props = httpcalls.get_json(url, "/props", key=key)
    except httpcalls.Unanswered:
        return {}
    return props if isinstance(props, dict) else {}


def context_of(props: dict[str, Any]) -> int | None:
    """Tokens each request may use, as ``/props`` says; None when it does not say."""
    settings = props.get("default_generation_settings")
    value = settings.get("n_ctx") if isinstance(settings, dict) else None
    return value if isinstance(value, int) else None


def slots_speculative(url: str, key: str = "") -> bool | None:
    """Whether any slot speculates; None when ``/slots`` is missing or silent about it."""
    try:
        slots = httpcalls.get_json(url, "/slots", key=key)
    except httpcalls.Unanswered:
        return None
    if not isinstance(slots, list):
        return None
    said = [slot["speculative"] for slot in slots if isinstance(slot, dict) and "speculative" in slot]
    return any(said) if said else None
