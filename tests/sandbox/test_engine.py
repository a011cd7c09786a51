from __future__ import annotations

import http.server
import json
import os
import threading
from pathlib import Path
from typing import NoReturn

import pytest

from pytest_agentgrade.errors import EngineUnavailable
from pytest_agentgrade.sandbox.engine import connect, remedy


def test_engine_answers() -> None:
    client = connect()
    assert client.ping()
    client.close()


def test_no_call_looks_at_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls are made in threads; a variable that pytest removes between its name and its value would be a KeyError."""

    class Untouchable(dict[str, str]):
        def __getitem__(self, name: str) -> str:
            raise AssertionError(f"{name} was read")

        def items(self) -> NoReturn:
            raise AssertionError("all variables were read")

        __iter__ = items

    client = connect()
    with monkeypatch.context() as patched:
        patched.setattr(os, "environ", Untouchable(os.environ))
        assert client.ping()
        assert client.containers.list(limit=1, ignore_removed=True) is not None
    client.close()


def test_no_engine_names_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EngineUnavailable, match=r"no Docker engine answers: .* - DOCKER_HOST is 'unix://"):
        connect()


def test_remedies_fit_the_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    assert "usermod" in remedy(PermissionError(13, "Permission denied"))
    monkeypatch.setattr("pytest_agentgrade.sandbox.engine._DEFAULT_SOCKET", Path("/nowhere"))
    assert "agentgrade setup" in remedy(FileNotFoundError(2, "No such file"))


def test_old_engine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class OldEngine(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"ApiVersion": "1.40", "Version": "19.03"}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

    with http.server.HTTPServer(("127.0.0.1", 0), OldEngine) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{server.server_port}")
        with pytest.raises(EngineUnavailable, match=r"speaks API 1\.40, 1\.41 is needed"):
            connect()
        server.shutdown()
        thread.join()
