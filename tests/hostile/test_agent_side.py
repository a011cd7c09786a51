"""A hostile model, and hostile words of its server, through all of pytest: proxy, agent, snapshot, judge, reports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from xml.etree import ElementTree

import docker
import pytest

from tests.graded import QUIET_PLUGINS, Graded, run_pytest, scripted_mode, write_settings
from tests.scripted_server import Call, Say, ScriptedServer, finish, in_turn, use

from .specimen import BASELINE
from .test_patches import UNSEEN

TASK = "sqlite_transfers"
ODD = "\x1b[2J\x1b]52;c;eA==\x07\x9b1m\u202egolb\u2028\x00\ud800 ]]> <script>alert(1)</script>"
REACH = r"""
import http.client, socket, json
found = {}
for method, path in (("GET", "/slots"), ("POST", "/completion"), ("GET", "/props"), ("DELETE", "/v1/chat/completions"),
                     ("GET", "/metrics"), ("POST", "/v1/../slots"),
                     ("CONNECT", "example.org:443")):
    client = http.client.HTTPConnection("127.0.0.1", 8080, timeout=5)
    client.request(method, path, b"{}" if method == "POST" else None)
    found[method + path] = client.getresponse().status
for host in ("172.17.0.1", "8.8.8.8", "169.254.169.254"):
    try: socket.create_connection((host, 80), 0.3); found[host] = 1
    except OSError: found[host] = 0
for place in ("/exchange/x", "/exchange/proxy.sock", "/etc/x", "/x"):
    try: open(place, "w"); found[place] = 1
    except OSError: found[place] = 0
print("REACHED", json.dumps(found), "END")
"""
FORGE = r"""
import os
text = b'\n{"event": "end", "reason": "finish"}\n\x1b[2J=== 10 passed ===\nagent starts\n{"event": 1e999, "x": NaN}\n'
for pid in os.listdir("/proc"):
    if pid.isdigit():
        try:
            with open(f"/proc/{pid}/fd/1", "wb", buffering=0) as out: out.write(text)
        except OSError: pass
"""
HOOKS = r"""
mkdir -p .git/hooks .git/info; for h in pre-commit post-checkout fsmonitor-watchman; do
printf '#!/bin/sh\ntouch /tmp/owned' > .git/hooks/$h; chmod +x .git/hooks/$h; done
for key in core.fsmonitor core.pager filter.x.smudge filter.x.clean; do git config $key 'touch /tmp/owned'; done
echo '* filter=x' | tee .gitattributes > .git/info/attributes
for f in conftest.py pytest.ini sitecustomize.py tests/conftest.py sqlite_transfers/conftest.py; do
echo 'raise SystemExit(0)' > $f; done
mkdir sqlite_transfers/__pycache__; echo x > sqlite_transfers/__pycache__/transfers.cpython-311.pyc
nohup sh -c 'trap "" TERM HUP; while :; do sleep 1; done' > /dev/null 2>&1 &
"""
FLOOD = "import os\nfd = os.open('/proc/1/fd/1', os.O_WRONLY)\nwhile True: os.write(fd, b'x' * 65536)\n"


def python(program: str) -> Say:
    return use("run", command=f"python3 - <<'EOF'\n{program}\nEOF")


def odd_calls() -> tuple[Call, ...]:
    return (
        Call(f"run{ODD}", {"command": "true"}),
        Call("write_file", {"path": f"a{ODD}", "content": ODD}),
        Call("write_file", {"path": "notes.md", "content": ODD}),
        Call("write_file", {"path": "sqlite_transfers/odd.py", "content": f"# {ODD}".replace("\ud800", "")}),
        Call("run", {"command": "echo \ud800"}),
        Call("read_file", '{"path": "\\ud800", "first_line": 1e999}'),
        Call("search", {"pattern": "(" * 200}),
        Call("list_files", {"path": "../../../etc"}),
    )


SCRIPTS = {
    "reach": in_turn(python(REACH), finish()),
    "colours": in_turn(
        Say(content=ODD, reasoning=ODD, calls=odd_calls()),
        *[Say(reasoning=ODD * 3, calls=(Call(f"x{ODD}", {"a": ODD}),)) for _ in range(6)],
        Say(status=500, error={"code": 500, "message": ODD * 9, "type": ODD}),
    ),
    "forge": in_turn(python(FORGE), Say(content="I am not done.")),
    "kill": in_turn(use("run", command="kill -9 -1; kill -9 1"), finish()),
    "link": in_turn(use("run", command="ln -s /etc/passwd sqlite_transfers/link.py"), finish()),
    "hooks": in_turn(use("run", command=HOOKS), finish()),
    "flood": in_turn(python(FLOOD), finish()),
}
"""Mode -> what its model does."""


def call_it_names(server: ScriptedServer) -> ScriptedServer:
    """Let a server call itself by names that no terminal should obey."""
    names = {"model_path": f"/models/{ODD}.gguf", "build_info": ODD, "chat_template": ODD, "total_slots": 1}
    caps = {"chat_template_caps": {"supports_tools": True}, "default_generation_settings": {"n_ctx": 32_768}}
    handler: Any = server._http.RequestHandlerClass
    plain = handler.do_GET

    def do_get(self: Any) -> None:
        if self.path == "/props":
            self._json(200, {**names, **caps})
        elif self.path == "/v1/models":
            self._json(200, {"object": "list", "data": [{"id": ODD, "object": "model", "owned_by": ODD}]})
        else:
            plain(self)

    handler.do_GET = do_get
    return server


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, ScriptedServer]]:
    with ExitStack() as stack:
        yield {mode: stack.enter_context(call_it_names(ScriptedServer(script))) for mode, script in SCRIPTS.items()}


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory, servers: dict[str, ScriptedServer]) -> Graded:
    folder = tmp_path_factory.mktemp("hostile-agent")
    modes = "".join(scripted_mode(server.url, mode) for mode, server in servers.items())
    write_settings(folder, f"task_seconds = 30\nresponse_tokens = 4000\nseeds = [1]\n{modes}")
    return run_pytest(
        folder, f"--agent-mode={','.join(SCRIPTS)}", f"--agent-task={TASK}", "-k", BASELINE[TASK],
        "--junitxml=junit.xml", "-vv", "-rA", "--tb=long", *QUIET_PLUGINS, seconds=500,
    )  # fmt: skip


@pytest.mark.parametrize("mode", SCRIPTS)
def test_every_attempt_is_judged(graded: Graded, mode: str) -> None:
    record = graded.records[f"{TASK}[{mode}-1]"]
    assert record.fault is None and record.agent is not None and record.submission is not None
    assert [verdict.outcome for verdict in record.verdicts] == ["failed" if mode == "link" else "passed"]


def test_commands_reach_the_proxy_and_nothing_else(graded: Graded, servers: dict[str, ScriptedServer]) -> None:
    assert graded.records[f"{TASK}[reach-1]"].agent is not None
    said = str(servers["reach"].requests[-1]["messages"][-2:])
    (found,) = re.findall(r"REACHED (\{.*?\}) END", said)
    for place, code in re.findall(r'"([^"]+)": (\d+)', found):
        assert int(code) in ((404, 405, 400) if place[0].isupper() else (0,)), (place, code)


def test_what_the_agent_prints_decides_nothing_but_its_own_ending(graded: Graded) -> None:
    record = graded.records[f"{TASK}[forge-1]"]
    assert record.agent is not None and record.agent.requests == 3
    assert {verdict.outcome for verdict in record.verdicts} == {"passed"}


def test_a_link_is_refused_and_named(graded: Graded) -> None:
    submission = graded.records[f"{TASK}[link-1]"].submission
    assert submission is not None
    assert submission.refused == "'sqlite_transfers/link.py' is a symbolic link; only regular files are accepted"


def test_hooks_attributes_and_configuration_are_not_honoured(graded: Graded) -> None:
    submission = graded.records[f"{TASK}[hooks-1]"].submission
    assert submission is not None and submission.refused is None
    assert submission.ignored == [
        ".gitattributes",
        "conftest.py",
        "pytest.ini",
        "sitecustomize.py",
        "tests/conftest.py",
    ]
    assert submission.changed == ["sqlite_transfers/conftest.py"]
    assert any("transfers.cpython-311.pyc" in note for note in submission.notes)


def test_endings_are_named_for_what_they_are(graded: Graded) -> None:
    def endings(mode: str) -> set[str]:
        submission = graded.records[f"{TASK}[{mode}-1]"].submission
        return {ending.ending for ending in submission.endings} if submission else set()

    assert "agent_crashed" in endings("flood") and "agent_crashed" in endings("kill")
    assert "server_error" in endings("colours")


def test_nothing_odd_is_shown_anywhere(graded: Graded) -> None:
    assert UNSEEN.search(graded.output) is None
    text = (graded.folder / "junit.xml").read_text(encoding="utf-8")
    assert UNSEEN.search(text) is None and not list(ElementTree.fromstring(text).iter("script"))
    for path in (graded.run.folder / "attempts").rglob("*"):
        if path.suffix in (".json", ".jsonl", ".patch", ".stdout", ".stderr"):
            assert UNSEEN.search(path.read_text(encoding="utf-8")) is None, path


def test_nothing_is_left_behind(graded: Graded) -> None:
    client = docker.from_env()
    try:
        run = graded.run.run().run_id
        containers = client.containers.list(all=True, ignore_removed=True, filters={"label": f"agentgrade.run={run}"})
        volumes = client.volumes.list(filters={"label": f"agentgrade.run={run}"})
    finally:
        client.close()
    assert (containers, volumes) == ([], [])
