"""The cage as its inmates see it: a judge's container and an agent's."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest

from pytest_agentgrade.attempt.agents.base import EXCHANGE_PLACE, AgentBase, AgentEnd
from pytest_agentgrade.attempt.agents.runner import SOCKET_NAME, AgentLimits, run_agent
from pytest_agentgrade.attempt.proxy import RecordingProxy
from pytest_agentgrade.errors import HostError
from pytest_agentgrade.grading.judge import Judge
from pytest_agentgrade.sandbox.engine import connect
from pytest_agentgrade.sandbox.image import Image
from pytest_agentgrade.sandbox.owner import Owner
from pytest_agentgrade.sandbox.volume import WorkspaceVolume
from pytest_agentgrade.submission.tree import TreeFile
from tests.graded import PROJECT, QUIET_PLUGINS, run_pytest, scripted_mode, the_task, write_settings
from tests.scripted_server import SCRIPTS, ScriptedServer, references, solve

from .test_proxy import POLICY

PROBE = (Path(__file__).parent / "inside.py").read_text(encoding="utf-8")
MEGABYTE = 1 << 20
PROXIES = {"httpProxy": "http://proxy.example:3128", "httpsProxy": "http://proxy.example:3128"}


@dataclass(frozen=True)
class Prober(AgentBase):
    """An agent that looks around and leaves what it found in its workspace."""

    name: str = "prober"
    version: str = "1"
    needs_tools: bool = False

    def command(self) -> tuple[str, ...]:
        return ("python3", "-c", f"{PROBE}\nopen('/work/found.json', 'w').write(look())")


@dataclass(frozen=True)
class Seen:
    """What one container shows from inside, and what the engine says about it."""

    inside: dict[str, Any]
    engine: dict[str, Any]
    role: str


@pytest.fixture(scope="module")
def proxied_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[docker.DockerClient]:
    """A client of somebody whose Docker configuration has proxies, which other tools copy into containers."""
    folder = tmp_path_factory.mktemp("docker")
    (folder / "config.json").write_text(json.dumps({"proxies": {"default": PROXIES}}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_CONFIG", str(folder))
        patch.setenv("HTTP_PROXY", PROXIES["httpProxy"])
        patch.setenv("NO_PROXY", "*")
        client = connect()
        yield client
        client.close()


@pytest.fixture(scope="module")
def in_judge(proxied_client: docker.DockerClient, image: Image) -> Seen:
    task = the_task("expiring_cache")
    tree = task.base.with_files({"expiring_cache/cache.py": TreeFile(f"{PROBE}\nExpiringCache = look\n".encode())})
    with (
        Judge(proxied_client, image, Owner.current(), "cage", runtime="runc") as judge,
        judge.open(task, tree, 1) as candidate,
    ):
        inside = json.loads(candidate.call("expiring_cache.cache:look").expect(str))
        (found,) = containers(proxied_client, "judge")
    return Seen(inside, found, "judge")


@pytest.fixture(scope="module")
def in_agent(proxied_client: docker.DockerClient, image: Image) -> Seen:
    engine: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        WorkspaceVolume(proxied_client, image.id, Owner.current(), "cage") as volume,
        ScriptedServer(SCRIPTS["idle"]) as server,
        RecordingProxy(server.url, Path(folder) / SOCKET_NAME, POLICY, Path(folder).with_suffix(".log")) as proxy,
    ):
        ran = run_agent(
            proxied_client, image.id, Prober(), "Look.", volume=volume.name, exchange_dir=Path(folder), seconds=60,
            owner=Owner.current(), run_id="cage", limits=AgentLimits(memory_bytes=512 * MEGABYTE), runtime="runc",
            on_start=lambda _: engine.extend(containers(proxied_client, "agent")),
        )  # fmt: skip
        assert ran.ended is AgentEnd.EXITED and ran.exit_code == 0, ran.stderr_tail
        assert proxy.exchanges == ()
        data = b"".join(volume.read_tar())
    Path(folder).with_suffix(".log").unlink()
    start = data.index(b'{"ids"')
    return Seen(json.loads(data[start : data.index(b"\0", start)]), engine[0], "agent")


@pytest.fixture(params=["in_judge", "in_agent"])
def seen(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def containers(client: docker.DockerClient, role: str) -> list[dict[str, Any]]:
    api: Any = client.api
    wanted = {"label": ["agentgrade.run=cage", f"agentgrade.role={role}"]}
    return [api.inspect_container(one["Id"]) for one in api.containers(filters=wanted)]


def test_it_is_nobody_without_privileges(seen: Seen) -> None:
    assert set(seen.inside["ids"]) == {65532}
    status = seen.inside["status"]
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert seen.inside["setuid"] == [] and seen.inside["devices"] == []
    assert seen.inside["done"] == []


def test_it_has_no_network_and_no_socket_but_the_proxys(seen: Seen) -> None:
    assert seen.inside["interfaces"] == ["lo"] and seen.inside["reached"] == []
    assert seen.inside["sockets"] == ([f"{EXCHANGE_PLACE}/{SOCKET_NAME}"] if seen.role == "agent" else [])
    assert seen.engine["HostConfig"]["NetworkMode"] == "none"


def test_nothing_of_the_host_is_mounted_but_the_exchange_folder(seen: Seen) -> None:
    kinds = {"proc", "sysfs", "tmpfs", "devpts", "mqueue", "cgroup", "cgroup2", "overlay"}
    given = {"/etc/resolv.conf", "/etc/hostname", "/etc/hosts", "/sbin/docker-init", "/usr/sbin/docker-init"}
    others = [mount for mount in seen.inside["mounts"] if mount[3] not in kinds and mount[0] not in given]
    assert [mount[0] for mount in others] == ([EXCHANGE_PLACE] if seen.role == "agent" else [])
    for place, _, options, _ in [*others, *(mount for mount in seen.inside["mounts"] if mount[0] == "/")]:
        assert "ro" in options.split(","), place
    assert seen.inside["writable"] == []
    assert seen.engine["HostConfig"]["Binds"] in (None, []) and seen.engine["HostConfig"]["ReadonlyRootfs"] is True


def test_everything_it_can_use_up_has_a_limit(seen: Seen) -> None:
    memory = (64 if seen.role == "judge" else 512) * MEGABYTE
    assert seen.inside["memory"] == str(memory) and seen.inside["swap"] in (str(memory), "0", "")
    config = seen.engine["HostConfig"]
    assert config["Memory"] == config["MemorySwap"] == memory
    assert seen.inside["pids"] == ("64" if seen.role == "judge" else "256")
    assert seen.inside["quota"].split()[0] == "100000" and config["NanoCpus"] == 10**9
    assert seen.inside["core"] == [0, 0] and seen.inside["files"] == [1024, 1024]
    for folder, (size, inodes) in seen.inside["space"].items():
        assert 0 < size <= 256 * MEGABYTE, folder
        assert 0 < inodes <= 40_000, folder
    assert config["LogConfig"]["Type"] == "none"
    assert not config["Privileged"] and config["PidMode"] == "" and config["IpcMode"] == "private"


def test_its_environment_is_ours_alone(seen: Seen) -> None:
    assert not [name for name in seen.inside["env"] if "proxy" in name.lower() or "PYTEST" in name]
    assert set(seen.inside["env"]) <= {"HOME", "PATH", "LANG", "HOSTNAME", "LC_CTYPE", "PWD", "GIT_PAGER"}
    assert seen.inside["hostname"] == "sandbox"


def test_the_runtime_is_the_one_asked_for(seen: Seen) -> None:
    assert seen.engine["HostConfig"]["Runtime"] == "runc"


def test_every_runtime_of_this_engine_can_be_used(client: docker.DockerClient, tmp_path: Path) -> None:
    """Agent and judge: runc by its names, and gVisor (with ``--host-uds=open``) or Kata where the engine knows them."""
    info = client.info()
    names = sorted(set(info["Runtimes"]) - {info["DefaultRuntime"], "io.containerd.runtime.v1.linux"})
    names = names or [info["DefaultRuntime"]]
    solution = solve(references(PROJECT / "task_fixtures", PROJECT / "hidden_checks"))
    for name in names:
        folder = tmp_path / name
        folder.mkdir()
        with ScriptedServer(solution) as server:
            write_settings(folder, f"task_seconds = 60\nseeds = [1]\n{scripted_mode(server.url)}")
            done = run_pytest(
                folder, "--agent-mode=scripted", "--agent-task=sqlite_transfers", f"--agent-runtime={name}",
                "--tb=short", *QUIET_PLUGINS,
            )  # fmt: skip
        (record,) = done.run.records()
        assert record.fault is None and record.passed == 10, done.output
        assert done.run.run().settings["runtime"] == name


def test_an_unknown_runtime_is_the_hosts_fault_and_named(client: docker.DockerClient, image: Image) -> None:
    task = the_task("expiring_cache")
    with (
        Judge(client, image, Owner.current(), "cage", runtime="no-such-runtime") as judge,
        pytest.raises(HostError, match="no-such-runtime"),
        judge.open(task, task.base, 1),
    ):
        raise AssertionError("nothing can run")
    assert containers(client, "judge") == []


def test_a_runtime_that_the_engine_does_not_know_is_refused_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches" / "sqlite_transfers.patch").write_text(
        "--- /dev/null\n+++ b/NOTES.md\n@@ -0,0 +1 @@\n+Nothing.\n"
    )
    done = run_pytest(
        tmp_path, "--agent-patches=patches", "--agent-task=sqlite_transfers", "--agent-seed=1",
        "-k", "moves_the_amount", "--agent-runtime=no-such-runtime", "--tb=short", *QUIET_PLUGINS,
    )  # fmt: skip
    assert done.code == pytest.ExitCode.USAGE_ERROR and "failed" not in done.output
    assert "the Docker engine knows no runtime 'no-such-runtime'" in done.output
    assert not (tmp_path / "agentgrade-runs").exists(), "refused before anything starts"
