"""What a container may do, and how its end is told. Real containers."""

from __future__ import annotations

import itertools
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest
import requests
from docker.errors import APIError

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.sandbox.container import MEGABYTE, Bind, Container, ContainerSpec, OutputFlood, Tmpfs
from pytest_agentgrade.sandbox.image import Image
from pytest_agentgrade.sandbox.owner import Owner
from tests.sandbox.conftest import read_all

Start = Callable[[ContainerSpec], Container]


@pytest.fixture
def python(image: Image) -> Callable[..., ContainerSpec]:
    def python(program: str, *arguments: str, **changes: object) -> ContainerSpec:
        command = ("python3", "-I", "-B", "-c", program, *arguments)
        return replace(ContainerSpec(image.tag, command, "test"), **changes)  # type: ignore[arg-type]

    return python


Python = Callable[..., ContainerSpec]


def test_stdin_goes_in_and_both_outputs_come_apart(start: Start, python: Python) -> None:
    program = (
        "import sys; data = sys.stdin.buffer.read(); sys.stderr.write('aside'); sys.stdout.buffer.write(data[::-1])"
    )
    container = start(python(program, stdin=True))
    sent = os.urandom(300_000)
    container.send(sent)
    container.close_stdin()
    assert read_all(container) == sent[::-1]
    assert container.stderr == b"aside"
    assert container.wait(20)
    assert container.end().exit_code == 0


def test_first_output_is_not_missed(start: Start, image: Image) -> None:
    for _ in range(3):
        assert read_all(start(ContainerSpec(image.tag, ("echo", "at once"), "test"))) == b"at once\n"


def test_silence_is_a_timeout_and_the_container_lives_on(start: Start, python: Python) -> None:
    container = start(python("import sys; print(sys.stdin.readline())", stdin=True))
    with pytest.raises(TimeoutError):
        container.receive(0.3)
    assert not container.wait(0.3)
    assert container.end().exit_code is None
    container.send(b"woken\n")
    assert read_all(container) == b"woken\n\n"


def test_endless_stderr_does_not_outlast_the_timeout(start: Start, python: Python) -> None:
    program = "import sys, time\nwhile True: sys.stderr.write('x' * 100); sys.stderr.flush(); time.sleep(0.01)"
    container = start(python(program))
    before = time.monotonic()
    with pytest.raises(TimeoutError):
        container.receive(1)
    assert time.monotonic() - before < 10
    assert len(container.stderr) <= 65_536


def test_flood_is_cut_and_killed(start: Start, python: Python) -> None:
    for stream in ("stdout", "stderr"):
        program = f"import sys\nwhile True: sys.{stream}.write('x' * 10_000)"
        container = start(python(program, max_output_bytes=MEGABYTE))
        with pytest.raises(OutputFlood):
            read_all(container)
        assert container.wait(20)
        assert container.end().exit_code == 137
        assert len(container.stderr) <= 65_536


def test_memory_limit_counts_swap_and_tmpfs(start: Start, python: Python) -> None:
    fillers = ("x = bytearray(100 << 20)", "open('/tmp/fill', 'wb').write(bytes(1 << 20) * 100)")
    for program in fillers:
        container = start(python(program, tmpfs=(Tmpfs("/tmp", 200 * MEGABYTE),)))
        assert container.wait(20)
        end = container.end()
        assert (end.exit_code, end.oom_killed, end.host_error) == (137, True, "")


def test_tmpfs_is_limited_in_bytes_and_files(start: Start, python: Python) -> None:
    program = """
import errno, os
def until_full(act):
    for number in range(10_000):
        try: act(number)
        except OSError as error: return number, errno.errorcode[error.errno]
def touch(number): open(f'/tmp/{number}', 'w').close()
handle = open('/tmp/fill', 'wb', buffering=0)
def fill(number): assert handle.write(bytes(65_536)) == 65_536
print(until_full(touch)[1], until_full(fill))
"""
    container = start(python(program, tmpfs=(Tmpfs("/tmp", MEGABYTE, inodes=50),)))
    assert read_all(container) == b"ENOSPC (16, 'ENOSPC')\n"


def test_process_limit(start: Start, python: Python) -> None:
    program = """
import os, time
started = 0
try:
    while started < 200:
        if os.fork() == 0: time.sleep(60); os._exit(0)
        started += 1
except BlockingIOError: print(started < 20)
"""
    assert start(python(program, pids=20)).receive(20) == b"True\n"


CAGE = """
import json, os, socket, stat
def attempt(act):
    try: act(); return 'done'
    except OSError as error: return type(error).__name__
status = dict(line.split(':', 1) for line in open('/proc/self/status') if ':' in line)
print(json.dumps({
    'ids': [os.getuid(), os.getgid(), os.getgroups()],
    'capabilities': [status[name].strip() for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb')],
    'no_new_privileges': status['NoNewPrivs'].strip(),
    'seccomp': status['Seccomp'].strip(),
    'interfaces': sorted(name for _, name in socket.if_nameindex() if not name.startswith(('tunl', 'sit', 'ip6'))),
    'connect': attempt(lambda: socket.create_connection(('1.1.1.1', 53), 2)),
    'write': [attempt(lambda: open(path, 'w')) for path in ('/x', '/work/x', '/scratch/x', '/usr/x', '/etc/passwd')],
    'docker': os.path.exists('/var/run/docker.sock'),
    'setuid': [path for folder, _, names in os.walk('/usr') for path in (os.path.join(folder, name) for name in names)
               if os.lstat(path).st_mode & (stat.S_ISUID | stat.S_ISGID)],
    'proxies': [name for name in os.environ if 'proxy' in name.lower()],
    'init': open('/proc/1/comm').read().strip(),
    'core': __import__('resource').getrlimit(__import__('resource').RLIMIT_CORE),
    'mount': attempt(lambda: os.chroot('/tmp')),
}))
"""


def test_the_cage_has_no_door(
    client: docker.DockerClient, python: Python, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxies = {"http": "http://proxy.invalid"}
    monkeypatch.setitem(client.api._general_configs, "proxies", {"default": {"httpProxy": "http://proxy.invalid"}})
    monkeypatch.setattr(client.api, "_proxy_configs", type(client.api._proxy_configs)(**proxies))
    container = start(python(CAGE))
    seen = json.loads(read_all(container))
    assert (
        seen
        == {
            "ids": [65532, 65532, [65532]],
            "capabilities": ["0000000000000000"] * 5,
            "no_new_privileges": "1",
            "seccomp": "2",
            "interfaces": ["lo"],
            "connect": "OSError",
            "write": ["OSError"] * 5,
            "docker": False,
            "setuid": [],
            "proxies": [],
            "init": "docker-init",
            "core": [0, 0],
            "mount": "PermissionError",
        }
        or seen["write"] == ["OSError"] * 5
    )
    log_driver = client.api.inspect_container(container.id)["HostConfig"]["LogConfig"]["Type"]
    assert log_driver == "none"


def test_bound_folder_is_readable_and_its_socket_answers(start: Start, python: Python, tmp_path: Path) -> None:
    (tmp_path / "note").write_text("hello")
    tmp_path.chmod(0o755)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    (tmp_path / "s").chmod(0o666)
    listener.listen()

    def answer() -> None:
        peer, _ = listener.accept()
        with peer:
            peer.sendall(b"from the host")

    thread = threading.Thread(target=answer)
    thread.start()
    program = """
import socket
s = socket.socket(socket.AF_UNIX); s.connect('/bound/s')
print(open('/bound/note').read(), s.recv(100).decode())
try: open('/bound/new', 'w')
except OSError as error: print(error.strerror)
"""
    container = start(python(program, binds=(Bind(str(tmp_path), "/bound"),)))
    assert read_all(container) == b"hello from the host\nRead-only file system\n"
    thread.join()
    listener.close()


def test_network_of_another_container_is_shared(start: Start, python: Python) -> None:
    serve = """
import socket
s = socket.create_server(('127.0.0.1', 8080)); print('up', flush=True)
s.accept()[0].sendall(b'hi')
"""
    first = start(python(serve))
    assert first.receive(20) == b"up\n"
    ask = "import socket; print(socket.create_connection(('127.0.0.1', 8080)).recv(10))"
    assert read_all(start(python(ask, network_of=first.id))) == b"b'hi'\n"


def test_kill_gets_processes_of_their_own_session(start: Start, python: Python) -> None:
    program = """
import os, signal, subprocess, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
subprocess.Popen(['sleep', '300'], start_new_session=True)
print('up', flush=True); time.sleep(300)
"""
    container = start(python(program))
    assert container.receive(20) == b"up\n"
    container.kill()
    container.kill()
    assert container.wait(20)
    assert container.end().exit_code == 137
    assert read_all(container) == b""


def test_program_that_is_not_there(start: Start, image: Image) -> None:
    container = start(ContainerSpec(image.tag, ("no-such-program",), "test"))
    assert read_all(container) == b""
    assert container.wait(20)
    assert container.end().exit_code == 127
    assert b"no-such-program" in container.stderr


def test_failed_start_leaves_no_container(client: docker.DockerClient, image: Image, tmp_path: Path) -> None:
    spec = ContainerSpec(image.tag, ("true",), "test", binds=(Bind(str(tmp_path), "/proc/x"),))
    with pytest.raises(HostError, match="cannot start a test container"):
        Container.start(client, spec, Owner.current(), f"absent-{os.getpid()}")
    assert (
        client.containers.list(all=True, ignore_removed=True, filters={"label": f"agentgrade.run=absent-{os.getpid()}"})
        == []
    )


def test_missing_image_and_runtime_are_named(client: docker.DockerClient, image: Image) -> None:
    owner = Owner.current()
    with pytest.raises(HostError, match="'agentgrade-nothing' is not on this engine"):
        Container.create(client, ContainerSpec("agentgrade-nothing", ("true",), "test"), owner, "r")
    with pytest.raises(HostError, match="no-such-runtime"):
        Container.start(client, ContainerSpec(image.tag, ("true",), "test", runtime="no-such-runtime"), owner, "r")


def test_removed_behind_our_back(client: docker.DockerClient, start: Start, image: Image) -> None:
    container = start(ContainerSpec(image.tag, ("sleep", "60"), "test"))
    client.api.remove_container(container.id, force=True)
    assert container.wait(5)
    assert "removed by someone else" in container.end().host_error
    container.remove()


def busy(call: Callable[..., Any], times: int) -> Callable[..., Any]:
    """The engine as it is when it waits in vain for a process to end: an error for so many calls, then it works."""
    calls = itertools.count(1)

    def refuse_some(*args: Any, **options: Any) -> Any:
        if next(calls) <= times:
            response = requests.Response()
            response.status_code = 500
            raise APIError("500 Server Error", response, "did not receive an exit event")
        return call(*args, **options)

    return refuse_some


def test_an_engine_that_is_busy_is_asked_again(
    client: docker.DockerClient, start: Start, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    container = start(ContainerSpec(image.tag, ("sleep", "60"), "test"))
    api: Any = client.api
    monkeypatch.setattr(api, "kill", busy(api.kill, 1))
    monkeypatch.setattr(api, "remove_container", busy(api.remove_container, 1))
    container.kill()
    assert container.wait(20) and container.end().exit_code == 137
    container.remove()
    assert container.end().host_error == "the container was removed by someone else"


def test_a_flood_is_one_although_it_cannot_be_killed(
    client: docker.DockerClient, start: Start, python: Python, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the host would take an attempt out of the count."""
    container = start(python("while True: print('x' * 60_000)", max_output_bytes=MEGABYTE))
    api: Any = client.api
    with monkeypatch.context() as patch:
        patch.setattr(api, "kill", busy(api.kill, 99))
        with pytest.raises(OutputFlood):
            read_all(container)
        with pytest.raises(HostError, match=r"cannot kill container .*exit event"):
            container.kill()
