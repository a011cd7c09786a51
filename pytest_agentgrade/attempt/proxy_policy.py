"""What the proxy makes of a request: the client says what it wants answered, the experiment says how."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

CLIENT_KEYS = (
    "messages", "tools", "tool_choice", "parallel_tool_calls", "response_format", "stop", "stream",
)  # fmt: skip
"""All that a client decides. Anything else - sampling, slots, caching, log-probabilities - is dropped."""
CAP_KEYS = ("max_tokens", "max_completion_tokens", "n_predict")
"""The names a token cap goes by."""
NO_PENALTIES: Mapping[str, float] = MappingProxyType(
    {"repeat_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
)
MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_BODY_DEPTH, MAX_BODY_PARTS = 64, 200_000
"""Values within values, and values in all, of one body. As objects they cost up to thirty times their bytes, and what
nests deeper than Python recurses could be sent on but not recorded."""


class BadRequest(ValueError):
    """A request body that cannot be passed on; ``str()`` says why."""


@dataclass(frozen=True)
class ProxyPolicy:
    """What is the same for every request of an attempt."""

    seed: int
    temperature: float
    top_p: float
    top_k: int
    min_p: float
    response_tokens: int
    """Token cap of one response."""
    max_turns: int
    """Requests that are sent on; the next one is refused with 404."""
    model: str = "local"
    """Model name sent to the server."""
    penalties: Mapping[str, float] = field(default_factory=lambda: NO_PENALTIES)
    """Sent as they are; left out, a server may take them from the model file."""
    thinking: Mapping[str, Any] = field(default_factory=dict)
    """Reasoning settings put into every body, such as ``{"reasoning_effort": "medium"}``."""
    abort_loops: bool = False
    """End the attempt when a loop is found while it runs: in a streamed reply, or in the calls so far."""

    def rewrite(self, raw: bytes) -> dict[str, Any]:
        """The body for the server, made from the client's bytes. Raises BadRequest."""
        body = _parse(raw)
        kept = {key: body[key] for key in CLIENT_KEYS if key in body}
        stream = kept.setdefault("stream", False)
        if not isinstance(stream, bool):
            raise BadRequest(f"stream is {stream!r}: true or false is needed")
        if not isinstance(kept.get("messages"), list):
            raise BadRequest("messages is missing or not a list")
        if stream:
            kept["stream_options"] = {"include_usage": True}
        return {"model": self.model, **kept, **self._forced(), "max_tokens": self._cap(body)}

    def _forced(self) -> dict[str, Any]:
        return {
            "seed": self.seed, "temperature": self.temperature, "top_p": self.top_p, "top_k": self.top_k,
            "min_p": self.min_p, "n": 1, "cache_prompt": False,
            # Every chunk then carries the server's own counts, so that a stream that is cut still has them.
            "timings_per_token": True,
            **self.penalties, **self.thinking,
        }  # fmt: skip

    def _cap(self, body: Mapping[str, Any]) -> int:
        caps: list[int] = [body[key] for key in CAP_KEYS if type(body.get(key)) is int and body[key] > 0]
        return min([*caps, self.response_tokens])


def encode(body: Mapping[str, Any]) -> bytes:
    """The bytes that go to the server; keys keep their order, as chat templates show it to the model."""
    try:
        return json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is not plain JSON: {error}") from error


def _parse(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise BadRequest("the body is not a JSON object")
    count_parts(body)
    return body


def count_parts(body: object) -> int:
    """Values in a body. Raises BadRequest when there are too many, or some nest too deep."""
    parts, layer = 0, [body]
    for _ in range(MAX_BODY_DEPTH):
        layer = [part for value in layer for part in _parts_of(value)]
        parts += len(layer)
        if parts > MAX_BODY_PARTS:
            raise BadRequest(f"the body has more than {MAX_BODY_PARTS} values")
        if not layer:
            return parts
    raise BadRequest(f"the body nests deeper than {MAX_BODY_DEPTH}")


def _parts_of(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
