"""Which attempts share a server, with real servers of the demo model."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.attempt.server_keeping import Servers
from tests.graded import wait_for

BASELINE = Mode("baseline", ("--spec-type", "none"), speculates=False)
OTHER = Mode("other", ("--spec-type", "none", "-ub", "256"), speculates=False)


@pytest.fixture
def watched() -> list[int]:
    return []


@pytest.fixture
def keeping(tmp_path: Path, watched: list[int]) -> Iterator[Servers]:
    settings = Settings.model_validate({"server_restart": "mode", "context": 1024})
    servers = Servers(settings, tmp_path / "locks", watched.append)
    yield servers
    servers.close()


def attempt(servers: Servers, mode: Mode, folder: Path) -> tuple[int, int]:
    with servers.serve(mode, folder / "server.log") as (server, served_before):
        assert server.pid is not None and server.alive()
        return server.pid, served_before


def running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_consecutive_attempts_of_a_mode_share_a_server(keeping: Servers, tmp_path: Path, watched: list[int]) -> None:
    pids = [attempt(keeping, BASELINE, tmp_path) for _ in range(3)]
    assert [before for _, before in pids] == [0, 1, 2] and len({pid for pid, _ in pids}) == 1
    assert watched == [pids[0][0]]
    keeping.close()
    assert wait_for(lambda: not running(pids[0][0]))


def test_another_mode_stops_the_kept_server_first(keeping: Servers, tmp_path: Path) -> None:
    first, _ = attempt(keeping, BASELINE, tmp_path)
    with keeping.serve(OTHER, tmp_path / "server.log") as (server, served_before):
        assert not running(first), "one server for each device"
        assert server.pid != first and served_before == 0
    back, served_before = attempt(keeping, BASELINE, tmp_path)
    assert back != first and served_before == 0


def test_a_kept_server_that_died_is_launched_anew(keeping: Servers, tmp_path: Path) -> None:
    first, _ = attempt(keeping, BASELINE, tmp_path)
    os.kill(first, signal.SIGKILL)
    assert keeping._kept is not None
    kept = keeping._kept.server
    assert wait_for(lambda: not kept.alive())
    second, served_before = attempt(keeping, BASELINE, tmp_path)
    assert second != first and served_before == 0


def test_an_attempt_that_ends_with_an_error_takes_its_server_with_it(keeping: Servers, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), keeping.serve(BASELINE, tmp_path / "server.log") as (server, _):
        pid = server.pid
        raise ZeroDivisionError
    assert pid is not None and not running(pid)
    assert attempt(keeping, BASELINE, tmp_path)[1] == 0


def test_the_device_stays_taken_while_a_server_is_kept(keeping: Servers, tmp_path: Path) -> None:
    attempt(keeping, BASELINE, tmp_path)
    (lock,) = (tmp_path / "locks").glob("server-*.lock")
    with pytest.raises(Timeout):
        FileLock(lock, timeout=0).acquire()
    keeping.close()
    with FileLock(lock, timeout=5):
        pass


def test_by_default_every_attempt_has_a_server_of_its_own(tmp_path: Path) -> None:
    servers = Servers(Settings.model_validate({"context": 1024}), tmp_path / "locks")
    first, second = (attempt(servers, BASELINE, tmp_path) for _ in range(2))
    assert first[0] != second[0] and (first[1], second[1]) == (0, 0)
    assert not running(first[0]) and not running(second[0])
