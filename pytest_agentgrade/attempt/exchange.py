"""One request of the agent and what became of it: the raw material of every figure about the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import Enum
from typing import Any, NamedTuple, Protocol

from pytest_agentgrade.errors import HostError


class Cut(Enum):
    """Why a reply is not whole."""

    CLIENT = "client_disconnect"
    """The agent closed the connection."""
    DEADLINE = "deadline"
    """The task clock ran out while the reply was on its way, or before the request."""
    REFUSED = "refused"
    """The attempt was over - turn limit reached - before the request came; it was not sent on."""
    INVALID = "invalid_request"
    """The request was no chat completion request; it was not sent on."""
    UPSTREAM = "upstream_error"
    """The server answered with an error, or not at all."""
    BROKEN = "stream_broken"
    """The server's stream ended, or carried an error, before it was complete."""
    LOOP = "loop"
    """A loop was found while it ran (``abort_loops``): in this reply, in one beside it, or before the request."""


class ToolCall(NamedTuple):
    """A tool call as the model wrote it; ``arguments`` is text and need not be valid JSON."""

    name: str
    arguments: str


class Reply(Protocol):
    """What a model wrote, whole or so far."""

    @property
    def reasoning(self) -> str:
        """Reasoning."""

    @property
    def content(self) -> str:
        """Visible text."""

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Tool calls in their order."""


def named_texts(reply: Reply) -> Iterator[tuple[str, str]]:
    """(name for people, text) of all that is searched for loops; empty texts left out."""
    calls = ((f"tool call {number}", call.arguments) for number, call in enumerate(reply.tool_calls, 1))
    texts = (("reasoning", reply.reasoning), ("text", reply.content), *calls)
    return ((name, text) for name, text in texts if text)


class TokenCount(NamedTuple):
    """A number of tokens and who counted them."""

    tokens: int
    source: str
    """``usage``, ``timings`` (both the server's) or ``deltas`` (streamed pieces the proxy saw: a lower bound)."""


@dataclass(frozen=True)
class Exchange:
    """One request and its reply, complete or cut. Seconds count from the start of the attempt."""

    number: int
    """1 for the attempt's first request."""
    path: str
    requested_at: float
    """When the request had been read."""
    ended_at: float
    """When the reply's last byte had come, or it was cut."""
    request_digest: str = ""
    """SHA-256 (hex) of the bytes that were sent to the server."""
    request: Mapping[str, Any] = field(default_factory=dict)
    """The JSON body that was sent to the server; empty when nothing was sent."""
    first_byte_at: float | None = None
    """First byte of the reply's body."""
    first_token_at: float | None = None
    """First delta with reasoning, content or a tool call; the end of a reply that is not streamed."""
    wall_started: float = 0.0
    """Wall clock at ``requested_at``, in seconds since 1970."""
    status: int | None = None
    """HTTP status the server gave; None when it gave none."""
    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Mapping[str, Any] | None = None
    """The server's ``usage``: its finite numbers and short texts."""
    timings: Mapping[str, Any] | None = None
    """The server's last ``timings``, likewise; there even when the reply was cut."""
    deltas: int = 0
    """Streamed pieces with some text that reached the proxy; llama.cpp sends one for about every token."""
    error: str = ""
    """What the server, or the network, said was wrong; escaped."""
    error_type: str = ""
    """The ``type`` of the server's error body, such as ``exceed_context_size_error``; escaped."""
    cut: Cut | None = None
    auxiliary: bool = False
    """The agent asked for something beside the task, such as a title: counted as no turn of its work."""

    @property
    def seconds(self) -> float:
        """From the request to the end of the reply."""
        return self.ended_at - self.requested_at

    @property
    def sent(self) -> bool:
        """Whether the server ever saw the request."""
        return bool(self.request)

    def to_dict(self) -> dict[str, Any]:
        """A JSON object; :meth:`from_dict` gives back an equal exchange."""
        data = asdict(self)
        data["tool_calls"] = [call._asdict() for call in self.tool_calls]
        data["cut"] = self.cut.value if self.cut else None
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Exchange:
        """Read what :meth:`to_dict` wrote; HostError when a field is unknown or missing."""
        known = {item.name for item in fields(cls)}
        if unknown := set(data) - known:
            raise HostError(
                f"an exchange has unknown fields {sorted(unknown)}", "use the version that wrote the record"
            )
        values = dict(data)
        try:
            values["tool_calls"] = tuple(ToolCall(**call) for call in values.get("tool_calls", ()))
            values["cut"] = Cut(values["cut"]) if values.get("cut") else None
            return cls(**values)
        except (TypeError, ValueError) as error:
            raise HostError(f"an exchange cannot be read: {error}") from error


def completion_tokens(exchange: Exchange) -> TokenCount:
    """Tokens the model generated, reasoning and tool calls included.

    A cut stream has no ``usage``; the ``timings`` that ride on every chunk have the count up to the cut then.
    """
    if (tokens := _whole(exchange.usage, "completion_tokens")) is not None:
        return TokenCount(tokens, "usage")
    if (tokens := _whole(exchange.timings, "predicted_n")) is not None:
        return TokenCount(tokens, "timings")
    return TokenCount(exchange.deltas, "deltas")


def prompt_tokens(exchange: Exchange) -> int | None:
    """Length of the prompt, cached part included; None when the server did not say."""
    if (tokens := _whole(exchange.usage, "prompt_tokens")) is not None:
        return tokens
    computed = _whole(exchange.timings, "prompt_n")
    return None if computed is None else computed + (_whole(exchange.timings, "cache_n") or 0)


def cached_tokens(exchange: Exchange) -> int | None:
    """Prompt tokens taken from a cache; None when the server did not say (which is not 0)."""
    if (tokens := _whole(exchange.timings, "cache_n")) is not None:
        return tokens
    details = (exchange.usage or {}).get("prompt_tokens_details")
    return _whole(details, "cached_tokens") if isinstance(details, Mapping) else None


def predicted_ms(exchange: Exchange) -> float | None:
    """The server's own time for generation, without prompt processing, in milliseconds."""
    return _number(exchange.timings, "predicted_ms")


def prompt_ms(exchange: Exchange) -> float | None:
    """The server's own time for the prompt, in milliseconds."""
    return _number(exchange.timings, "prompt_ms")


def drafted_tokens(exchange: Exchange) -> int | None:
    """Draft tokens proposed; None when the server reported none (llama.cpp leaves the field out then)."""
    return _whole(exchange.timings, "draft_n")


def accepted_tokens(exchange: Exchange) -> int | None:
    """Draft tokens accepted; None when the server reported none."""
    return _whole(exchange.timings, "draft_n_accepted")


def _whole(source: Mapping[str, Any] | None, key: str) -> int | None:
    value = (source or {}).get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _number(source: Mapping[str, Any] | None, key: str) -> float | None:
    value = (source or {}).get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
