"""The forwarder: what goes through it, what it hands back, and that ends are felt on both sides."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_agentgrade.attempt.agents import forwarder_program
from pytest_agentgrade.attempt.agents.forwarder_program import STARTS, connect


def forward(*command: str) -> subprocess.CompletedProcess[bytes]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    program = [sys.executable, "-I", "-B", forwarder_program.__file__, "/nowhere/proxy.sock", str(port)]
    return subprocess.run([*program, *command], capture_output=True, timeout=30, check=False)


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)])
def test_the_exit_code_is_the_agents(script: str, code: int) -> None:
    done = forward("sh", "-c", f"echo out; echo err >&2; {script}")
    assert (done.returncode, done.stdout, done.stderr) == (code, STARTS + b"out\n", b"err\n")


def test_a_program_that_is_missing_is_127() -> None:
    done = forward("/no/such/program")
    assert done.returncode == 127
    assert b"cannot run /no/such/program" in done.stderr


def test_the_agent_has_no_input() -> None:
    assert forward("cat").stdout == STARTS


@pytest.fixture
def line(tmp_path: Path) -> Iterator[tuple[socket.socket, socket.socket]]:
    """The agent's end of a forwarded connection, and the proxy's."""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener, socket.create_server(("127.0.0.1", 0)) as inside:
        listener.bind(path)
        listener.listen()
        agent = socket.create_connection(inside.getsockname())
        thread = threading.Thread(target=connect, args=(inside.accept()[0], path))
        thread.start()
        proxy, _ = listener.accept()
        agent.settimeout(10)
        proxy.settimeout(10)
        with agent, proxy:
            yield agent, proxy
        thread.join(10)
        assert not thread.is_alive()


def read(end: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := end.recv(size - len(data))):
        data += piece
    return data


def test_bytes_go_both_ways_whole(line: tuple[socket.socket, socket.socket]) -> None:
    agent, proxy = line
    for source, target in ((agent, proxy), (proxy, agent)):
        data = bytes(range(256)) * 8_000
        sender = threading.Thread(target=source.sendall, args=(data,))
        sender.start()
        assert read(target, len(data)) == data
        sender.join()


@pytest.mark.parametrize("first", [0, 1], ids=["the agent", "the proxy"])
def test_an_end_is_felt_on_the_other_side(line: tuple[socket.socket, socket.socket], first: int) -> None:
    line[first].sendall(b"last words")
    line[first].close()
    assert read(line[1 - first], 100) == b"last words"
