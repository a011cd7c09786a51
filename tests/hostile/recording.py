"""A pytest plugin (``-p tests.hostile.recording``): every request to the engine goes into ``requests.txt`` as well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import docker

_send = docker.APIClient.send


def _recording(self: Any, request: Any, **more: Any) -> Any:
    with Path("requests.txt").open("a", encoding="utf-8") as file:
        file.write(f"{request.method} {request.path_url}\n")
    return _send(self, request, **more)


docker.APIClient.send = _recording  # type: ignore[method-assign]
