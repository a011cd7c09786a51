from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import docker
import pytest

from pytest_agentgrade.errors import EngineUnavailable
from pytest_agentgrade.sandbox import setup, system_packages
from pytest_agentgrade.sandbox.engine import connect
from pytest_agentgrade.sandbox.image import Image


def test_setup_on_a_ready_machine_says_so_and_changes_nothing(image: Image) -> None:
    said: list[str] = []
    assert setup.run_setup(said.append) == image
    assert any("answers" in line for line in said)
    assert said[-1] == f"sandbox image {image.tag} is there (Python {image.python})"
    assert not any("building" in line or "install" in line for line in said)


def test_engine_is_started_in_the_background_and_outlives_us(tmp_path: Path) -> None:
    """A stand-in for dockerd: it is there after a moment, in its own session."""
    marker, log_file = tmp_path / "up", tmp_path / "log"
    script = f"echo starting; sleep 0.3; echo $$ > {marker}.new; mv {marker}.new {marker}; exec sleep 60"

    def ready() -> docker.DockerClient:
        if not marker.exists():
            raise EngineUnavailable("not yet")
        return connect()

    client = setup.start_in_background(("sh", "-c", script), log_file, ready, lambda _: None)
    client.close()
    pid = int(marker.read_text())
    try:
        assert os.getsid(pid) != os.getsid(0)
        assert log_file.read_text() == "starting\n"
    finally:
        os.kill(pid, 9)


def never() -> docker.DockerClient:
    raise EngineUnavailable("no Docker engine answers", "start it")


def test_engine_that_does_not_come_up_is_explained_by_its_log(tmp_path: Path) -> None:
    log_file = tmp_path / "log"
    log_file.write_text("one\ntwo\nthree\nfailed to load iptables\n")
    with pytest.raises(EngineUnavailable, match=r"after 0\.5 s: two; three; failed to load iptables - start it"):
        setup.wait_until_ready(never, lambda: setup._last_lines(log_file), seconds=0.5)


def test_without_root_the_way_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(EngineUnavailable, match="systemctl start docker"):
        setup.start_command()
    with pytest.raises(EngineUnavailable, match="no Docker engine is installed"):
        setup.install(lambda _: None)


def test_without_apt_the_way_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_packages, "SYSTEM_PATH", "/nowhere")
    with pytest.raises(EngineUnavailable, match=r"docs\.docker\.com"):
        setup.install(lambda _: None)


def test_install_asks_apt_for_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for apt-get writes down how it is called and installs a dockerd."""
    apt = tmp_path / "apt-get"
    apt.write_text(f'#!/bin/sh\necho "$DEBIAN_FRONTEND $*" >> {tmp_path}/calls\n: > {tmp_path}/dockerd\n'
                   f"chmod +x {tmp_path}/dockerd\n")  # fmt: skip
    apt.chmod(0o755)
    monkeypatch.setattr(system_packages, "SYSTEM_PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    setup.install(lambda _: None)
    assert (tmp_path / "calls").read_text().splitlines() == [
        "noninteractive update -qq",
        "noninteractive install -y -qq --no-install-recommends docker.io iptables",
    ]


CONNECT = "from pytest_agentgrade.sandbox.setup import run_setup\nrun_setup()"


def test_an_engine_of_the_users_choice_is_not_replaced(tmp_path: Path) -> None:
    environment = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    done = subprocess.run([sys.executable, "-c", CONNECT], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "start that engine or unset the variable" in done.stderr.splitlines()[-1]


def test_pid_files_of_a_killed_engine_are_removed_and_a_living_ones_kept(tmp_path: Path) -> None:
    """A dead process, a zombie, a process of another name; then one that lives and has the name."""
    program = tmp_path / "dockerd"
    shutil.copy("/bin/sleep", program)
    pid_file = tmp_path / "docker.pid"
    living = subprocess.Popen([program, "60"])
    other = subprocess.Popen(["sleep", "60"])
    zombie = subprocess.Popen(["true"])
    try:
        while Path(f"/proc/{zombie.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.01)
        for pid, stays in ((living.pid, True), (other.pid, False), (zombie.pid, False), (2**22 + 1, False)):
            pid_file.write_text(str(pid))
            said: list[str] = []
            setup.clear_stale_pid_files(tmp_path, said.append)
            assert pid_file.exists() is stays and bool(said) is not stays
    finally:
        for process in (living, other):
            process.kill()
            process.wait()
        zombie.wait()
