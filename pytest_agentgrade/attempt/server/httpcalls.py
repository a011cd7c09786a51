"""Small blocking HTTP calls to a model server: JSON in, JSON out, never through a proxy for loopback addresses."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from pytest_agentgrade.assignment.secrets import hide_in_bytes
from pytest_agentgrade.errors import ServerError
from pytest_agentgrade.escaping import escape_bytes

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_MOST_BYTES = 16_000_000


class Unanswered(ServerError):
    """No usable answer: no connection, an error status (then ``status`` is set), or not the JSON that was expected."""

    def __init__(self, message: str, hint: str = "", status: int | None = None) -> None:
        super().__init__(message, hint)
        self.status = status


def get_text(url: str, path: str, timeout: float = 10.0, *, key: str = "") -> str:
    """The body of ``url + path``; raises Unanswered. ``key`` is the server's API key, if it wants one."""
    return _call(url, path, None, timeout, key).decode("utf-8", "replace")


def get_json(url: str, path: str, timeout: float = 10.0, *, key: str = "") -> Any:
    """The JSON value at ``url + path``; raises Unanswered."""
    return _decode(_call(url, path, None, timeout, key), path)


def post_json(url: str, path: str, body: object, timeout: float = 60.0, *, key: str = "") -> Any:
    """Post ``body`` as JSON and return the JSON answer; raises Unanswered."""
    return _decode(_call(url, path, json.dumps(body).encode("ascii"), timeout, key), path)


def authorization(key: str) -> dict[str, str]:
    """The header that shows the API key; none without a key."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def _call(url: str, path: str, body: bytes | None, timeout: float, key: str) -> bytes:
    headers = {"Content-Type": "application/json", **authorization(key)}
    request = urllib.request.Request(url + path, body, headers)
    try:
        with _opener(url).open(request, timeout=timeout) as response:
            answer: bytes = response.read(_MOST_BYTES)
            return answer
    except urllib.error.HTTPError as error:
        with error:
            said = error.read(2_000)  # servers repeat a key that they do not know
        text = escape_bytes(hide_in_bytes(said, [key] if key else []), 500)
        raise Unanswered(f"{url}{path} answered status {error.code}: {text}", status=error.code) from error
    except (OSError, ValueError) as error:
        raise Unanswered(f"{url}{path} does not answer: {error}") from error


def _opener(url: str) -> urllib.request.OpenerDirector:
    if urlsplit(url).hostname in _LOOPBACK:
        return urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener()


def _decode(body: bytes, path: str) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise Unanswered(f"{path} answered no JSON: {escape_bytes(body, 200)}") from error
