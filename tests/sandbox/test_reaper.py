"""A process that is killed leaves nothing behind. Real processes, a real engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docker
import pytest

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.sandbox import reaper
from pytest_agentgrade.sandbox.image import Image
from pytest_agentgrade.sandbox.owner import Owner, process_start_time
from pytest_agentgrade.sandbox.reaper import Reaper
from pytest_agentgrade.sandbox.sweep import sweep
from pytest_agentgrade.sandbox.temporary import make_folder, sweep_folders

DRIVER = """
import json, os, subprocess, sys, time
from pytest_agentgrade.sandbox.container import Container, ContainerSpec
from pytest_agentgrade.sandbox.engine import connect
from pytest_agentgrade.sandbox.owner import Owner
from pytest_agentgrade.sandbox.reaper import Reaper
from pytest_agentgrade.sandbox.temporary import make_folder
from pytest_agentgrade.sandbox.volume import WorkspaceVolume
import contextlib

image, with_reaper = sys.argv[1], sys.argv[2] == "reaper"
client, owner = connect(), Owner.current()
with contextlib.ExitStack() as stack:
    child = subprocess.Popen(["sleep", "300"], start_new_session=True, stdout=subprocess.DEVNULL)
    folder = str(make_folder())
    if with_reaper:
        reaper = stack.enter_context(Reaper(owner))
        reaper.watch(child.pid)
    volume = stack.enter_context(WorkspaceVolume(client, image, owner, "killed", size=1 << 20))
    spec = ContainerSpec(image, ("sleep", "300"), "agent", volumes=(volume.mount(),))
    container = stack.enter_context(Container.start(client, spec, owner, "killed"))
    if os.fork() == 0:  # a forked child must not keep the reaper from noticing
        time.sleep(300)
        os._exit(0)
    print(json.dumps({"token": owner.token, "child": child.pid, "folder": folder}), flush=True)
    time.sleep(300)
"""


def run_driver(image: Image, with_reaper: bool) -> tuple[dict[str, Any], subprocess.Popen[str]]:
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, image.tag, "reaper" if with_reaper else "none"],
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert driver.stdout is not None
    facts: dict[str, Any] = json.loads(driver.stdout.readline())
    return facts, driver


def kill(driver: subprocess.Popen[str]) -> None:
    driver.send_signal(signal.SIGKILL)
    driver.wait()


def leftovers(client: docker.DockerClient, token: str) -> list[str]:
    filters = {"label": f"agentgrade={token}"}
    containers = [found.id or "" for found in client.containers.list(all=True, ignore_removed=True, filters=filters)]
    return containers + [found.name or "" for found in client.volumes.list(filters=filters)]


def eventually(condition: Callable[[], bool], seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def kill_group(driver: subprocess.Popen[str]) -> None:
    os.killpg(driver.pid, signal.SIGKILL)  # the forked sleeper
    assert driver.stdout is not None
    driver.stdout.close()


def test_sigkill_leaves_nothing_behind(client: docker.DockerClient, image: Image) -> None:
    facts, driver = run_driver(image, with_reaper=True)
    try:
        assert len(leftovers(client, facts["token"])) == 3
        kill(driver)
        assert eventually(lambda: process_start_time(facts["child"]) is None)
        assert eventually(lambda: not Path(facts["folder"]).exists())
        assert eventually(lambda: leftovers(client, facts["token"]) == [])
    finally:
        kill_group(driver)


def test_sweep_removes_what_the_dead_left_and_nothing_else(client: docker.DockerClient, image: Image) -> None:
    facts, driver = run_driver(image, with_reaper=False)
    mine = client.volumes.create(labels={"agentgrade": Owner.current().token})
    folder, ours = Path(facts["folder"]), make_folder()
    try:
        sweep(client)
        assert len(leftovers(client, facts["token"])) == 3  # its owner lives
        assert folder not in sweep_folders() and folder.exists()
        kill(driver)
        sweep(client)
        assert leftovers(client, facts["token"]) == []
        assert folder in sweep_folders() and not folder.exists() and ours.exists()
        assert leftovers(client, Owner.current().token) == [mine.name]
    finally:
        kill_group(driver)
        mine.remove()
        subprocess.run(["kill", "-9", str(facts["child"])], check=True)
        ours.rmdir()


def test_goodbye_removes_nothing() -> None:
    child, folder = subprocess.Popen(["sleep", "300"]), make_folder()
    try:
        with Reaper(Owner.current()) as reaper:
            reaper.watch(child.pid)
        assert process_start_time(child.pid) is not None
        assert folder.exists()
    finally:
        folder.rmdir()
        child.kill()
        child.wait()


def test_reused_ids_are_spared() -> None:
    """What carries the number of a watched thing, but is another by now, stays."""
    child = subprocess.Popen(["sleep", "300"])
    try:
        start_time = process_start_time(child.pid)
        assert start_time is not None
        reaper._kill(child.pid, start_time - 1)
        assert child.poll() is None
        reaper._kill(child.pid, start_time)
        assert child.wait(20) == -signal.SIGKILL
    finally:
        child.kill()
        child.wait()


def test_reaper_holds_no_pipe_of_ours_open() -> None:
    """Whoever waits for our output to end must not wait for the reaper."""
    program = """
import os, signal
from pytest_agentgrade.sandbox.owner import Owner
from pytest_agentgrade.sandbox.reaper import Reaper
with Reaper(Owner.current()):
    print("up", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"up\n")


def test_watching_without_a_reaper_is_an_error() -> None:
    with pytest.raises(HostError, match="not running"):
        Reaper(Owner.current()).watch(os.getpid())
    with Reaper(Owner.current()) as running:
        assert running._process is not None
        running._process.kill()
        running._process.wait()
        with pytest.raises(HostError, match="has died"):
            running.watch(os.getpid())
