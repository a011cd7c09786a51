from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import docker
import pytest

from pytest_agentgrade.errors import EngineUnavailable, HostError
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


class Registry(BaseHTTPRequestHandler):
    """Just enough of a registry (HTTP API v2) to give away one image, ``small:latest``, of one empty file."""

    blobs: ClassVar[dict[str, bytes]] = {}
    manifest: ClassVar[bytes] = b""

    def do_GET(self) -> None:
        kind = "application/octet-stream"
        if self.path == "/v2/":
            data = b"{}"
        elif "/manifests/" in self.path:
            data, kind = self.manifest, "application/vnd.docker.distribution.manifest.v2+json"
        else:
            data = self.blobs[self.path.rpartition("/")[2]]
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data if self.command == "GET" else b"")

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Nothing."""

    @classmethod
    def fill(cls) -> None:
        layer = io.BytesIO()
        with tarfile.open(fileobj=layer, mode="w") as tar:
            tar.addfile(tarfile.TarInfo("empty"))
        packed = gzip.compress(layer.getvalue(), mtime=0)
        config = json.dumps({
            "architecture": "amd64", "os": "linux", "config": {}, "history": [{"created_by": "test"}],
            "rootfs": {"type": "layers", "diff_ids": [digest(layer.getvalue())]},
        }).encode()  # fmt: skip
        kind = "application/vnd.docker"
        described = [
            {"mediaType": f"{kind}.{name}", "size": len(data), "digest": digest(data)}
            for name, data in (("container.image.v1+json", config), ("image.rootfs.diff.tar.gzip", packed))
        ]
        cls.blobs = {digest(data): data for data in (config, packed)}
        cls.manifest = json.dumps({
            "schemaVersion": 2, "mediaType": f"{kind}.distribution.manifest.v2+json", "config": described[0],
            "layers": described[1:],
        }).encode()  # fmt: skip


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_setup_pulls_an_image_that_the_user_named_once(client: docker.DockerClient) -> None:
    Registry.fill()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    name = f"localhost:{server.server_port}/small"
    said: list[str] = []
    try:
        setup.pull_missing(client, name, said.append)
        setup.pull_missing(client, name, said.append)
        assert said == [f"pulling {name}"]
        assert client.images.get(f"{name}:latest").id == digest(Registry.blobs[next(iter(Registry.blobs))])
    finally:
        server.shutdown()
        server.server_close()
        client.images.remove(name)


def test_image_that_cannot_be_pulled_is_named(client: docker.DockerClient) -> None:
    with pytest.raises(HostError, match=r"cannot pull image 'localhost:1/none'.*check the name"):
        setup.pull_missing(client, "localhost:1/none", lambda _: None)
