"""The attempts of a run look at everything they can read: nothing of others, of their judging, of the draws."""

from __future__ import annotations

import functools
import json
import re
import threading
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import pytest

from pytest_agentgrade.grading import wire
from pytest_agentgrade.grading.candidate import Candidate
from pytest_agentgrade.grading.local import LocalTransport
from pytest_agentgrade.grading.session import Limits
from pytest_agentgrade.grading.solutions import reference_tree
from pytest_agentgrade.grading.suite import load_checks
from pytest_agentgrade.plan import AttemptKey
from tests.graded import QUIET_PLUGINS, Graded, run_pytest, scripted_mode, the_task, write_settings
from tests.scripted_server import SCRIPTS, ScriptedServer

from .test_secrets import told

TASKS = ("expiring_cache", "csv_ledger", "build_planner", "sqlite_transfers")
WALK = r"""
import os, stat, uuid, zlib
mark = "MARK" + uuid.uuid4().hex
for place in ("/tmp", "/work", os.environ["HOME"], "/dev/shm", "/run", "/var/tmp", "/exchange"):
    try: open(place + "/mark-" + mark, "w").write(mark)
    except OSError: pass
out = zlib.compressobj(9)
file = open("/work/found.bin", "wb")
def keep(name, data): file.write(out.compress(b"\n== " + os.fsencode(name) + b"\n" + data))
keep("environ", repr(dict(os.environ)).encode())
for pid in filter(str.isdigit, os.listdir("/proc")):
    for what in ("cmdline", "environ", "mountinfo", "maps", "status", "cgroup", "limits", "net/unix"):
        try: keep(f"/proc/{pid}/{what}", open(f"/proc/{pid}/{what}", "rb").read(4 << 20))
        except OSError: pass
for folder, folders, names in os.walk("/"):
    folders[:] = [n for n in folders if folder != "/" or n not in ("proc", "sys", "usr", "bin", "lib", "lib64", "sbin")]
    keep(folder, b"\n".join(map(os.fsencode, [*folders, *names])))
    for name in names:
        path = os.path.join(folder, name)
        try:
            if stat.S_ISREG(os.lstat(path).st_mode) and name != "found.bin":
                data = open(path, "rb").read(4 << 20)
                keep(path, data)
                if "/objects/" in path: keep(path, zlib.decompress(data))
        except (OSError, zlib.error): pass
file.write(out.flush())
"""


class Listening(LocalTransport):
    """A driver process of ours, and what a check says to it."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[Any] = []

    def send(self, data: bytes, timeout: float) -> None:
        message = wire.unpack(data[wire.HEADER :])
        if message.get("op") not in ("tree", "protect", "ready"):
            self.said.append(message)
        super().send(data, timeout)


@dataclass(eq=False)
class Looked:
    """A finished run, what each attempt found, and what the engine said of the containers meanwhile."""

    run: Graded
    metadata: dict[str, str] = field(default_factory=dict)

    def found(self, task: str, seed: int) -> bytes:
        """Everything that the attempt at this task with this seed could read."""
        record = self.run.records[f"{task}[m-{seed}]"]
        key = AttemptKey(**record.key.model_dump())
        tree = self.run.run.attempt(key).read_submission()
        return zlib.decompress(tree.files["found.bin"].data)


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Looked:
    folder, metadata, over = tmp_path_factory.mktemp("looks"), {}, threading.Event()
    watcher = threading.Thread(target=watch, args=(metadata, over))
    watcher.start()
    try:
        with ScriptedServer(SCRIPTS["idle"]) as server:
            walk = WALK.replace("{", "{{").replace("}", "}}")
            command = f"agent = 'command'\nagent_command = ['python3', '-c', '''{walk}''']\n"
            write_settings(folder, f"task_seconds = 60\nseeds = [1, 2]\n{command}{scripted_mode(server.url, 'm')}")
            run = run_pytest(folder, "--agent-mode=m", "--agent-exit=measure", "--tb=short", *QUIET_PLUGINS)
    finally:
        over.set()
        watcher.join()
    label = f'"agentgrade.run": "{run.run.run().run_id}"'
    return Looked(run, {name: text for name, text in metadata.items() if label in text})


def watch(metadata: dict[str, str], over: threading.Event) -> None:
    """Inspect every container of ours that there is for a moment."""
    client = docker.from_env()
    api: Any = client.api
    while not over.wait(0.1):
        for one in api.containers(all=True, filters={"label": "agentgrade.run"}):
            if one["Id"] not in metadata:
                try:
                    metadata[one["Id"]] = json.dumps(api.inspect_container(one["Id"]))
                except docker.errors.NotFound:
                    continue
    client.close()


def words_of(data: bytes) -> set[bytes]:
    """Texts and numbers long enough to be nobody else's."""
    return set(re.findall(rb"[A-Za-z0-9.]{9,}", data))


@functools.cache
def inputs_of(looked: Looked, name: str) -> frozenset[bytes]:
    """The texts and large numbers that the checks of a task drew and sent in this run."""
    task, draws = the_task(name), looked.run.run.read_draws(name)
    assert draws is not None
    words: set[bytes] = set()
    shown = b"".join(file.data for file in task.base.values()) + task.prompt.encode()
    for check in load_checks(task):
        transport = Listening()
        try:
            with Candidate(
                transport, task, reference_tree(task), int(draws[check.name].seed, 16), Limits()
            ) as candidate:
                check.function(candidate)
        finally:
            transport.close()
        text = json.dumps(transport.said)
        words |= words_of(text.encode())
    return frozenset(
        word for word in words if word not in shown and not re.fullmatch(rb"[0.]+|agentgrade|.*csv_ledger.*", word)
    )


def test_every_attempt_looked_around_and_was_judged(looked: Looked) -> None:
    assert len(looked.run.records) == 8, looked.run.output
    assert all(record.complete for record in looked.run.records.values()), looked.run.output
    for task in TASKS:
        for seed in (1, 2):
            found = looked.found(task, seed)
            assert len(set(re.findall(rb"MARK[0-9a-f]{32}", found))) == 1
            assert b"== /exchange/" in found and f"{task}/__init__.py".encode() in found
            assert b"== /proc/1/cmdline" in found


def test_none_finds_anything_of_another(looked: Looked) -> None:
    every = [(task, seed) for task in TASKS for seed in (1, 2)]
    marks = {one: re.search(rb"MARK[0-9a-f]{32}", looked.found(*one)) for one in every}
    for one, mark in marks.items():
        assert mark is not None
        assert [other for other in every if other != one and mark.group() in looked.found(*other)] == []


@pytest.mark.parametrize("task", TASKS)
def test_no_check_and_no_solution_is_found(looked: Looked, task: str) -> None:
    assert told(looked.found(task, 1)) | told(looked.found(task, 2)) == set()


@pytest.mark.parametrize("task", TASKS)
def test_no_key_no_seed_and_no_input_of_this_run_is_found(looked: Looked, task: str) -> None:
    """All inputs of the checks had been in the first attempt's judge containers before the second one looked."""
    inputs, draws = inputs_of(looked, task), looked.run.run.read_draws(task)
    assert draws is not None and len(inputs) > 200
    keys = {looked.run.run.run().draw_key.encode(), *(draw.seed.encode() for draw in draws.values())}
    run = looked.run.run.folder.name.encode()
    for seed in (1, 2):
        found = looked.found(task, seed)
        assert words_of(found) & inputs == set()
        assert {word for word in (*keys, run, b"agentgrade-runs") if word in found} == set()


@pytest.mark.parametrize("task", TASKS)
def test_the_metadata_of_no_container_tells_anything(looked: Looked, task: str) -> None:
    roles = {role for text in looked.metadata.values() for role in re.findall(r'"agentgrade.role": "(\w+)"', text)}
    assert {"agent", "judge"} <= roles and len(looked.metadata) > 40
    draws = looked.run.run.read_draws(task)
    assert draws is not None
    seeds = [draw.seed.encode() for draw in draws.values()]
    for text in looked.metadata.values():
        data = text.encode()
        assert told(data) == set() and words_of(data) & inputs_of(looked, task) == set()
        assert [seed for seed in seeds if seed in data] == []


def test_the_image_tells_nothing_by_its_history(client: docker.DockerClient, image: Any) -> None:
    api: Any = client.api
    data = json.dumps([api.history(image.id), api.inspect_image(image.id)]).encode()
    assert told(data) == set() and str(Path.home()).encode() not in data
