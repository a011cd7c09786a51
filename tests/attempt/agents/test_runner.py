"""Agents in real containers: the way to the model, the clock, the limits."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest

from pytest_agentgrade.attempt.agents.base import AgentBase, AgentEnd, AgentEvent, AgentRun
from pytest_agentgrade.attempt.agents.runner import SOCKET_NAME, AgentLimits, run_agent
from pytest_agentgrade.attempt.agents.toolloop import ToolLoop
from pytest_agentgrade.attempt.exchange import Cut, Exchange
from pytest_agentgrade.attempt.proxy import RecordingProxy
from pytest_agentgrade.errors import AgentError
from pytest_agentgrade.sandbox.engine import connect
from pytest_agentgrade.sandbox.image import Image, ensure_image
from pytest_agentgrade.sandbox.owner import Owner
from pytest_agentgrade.sandbox.volume import WorkspaceVolume
from tests.attempt.test_proxy import policy
from tests.scripted_server import Script, ScriptedServer, slow, solve

FILES = {"pkg/a.py": "x = 1\n"}
SOLVE = solve(FILES)
RUN = f"test-runner-{os.getpid()}"  # tests of other workers run beside these


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    client = connect()
    yield client
    client.close()


@pytest.fixture(scope="module")
def image(client: docker.DockerClient) -> Image:
    return ensure_image(client)


@pytest.fixture(scope="module")
def volume(client: docker.DockerClient, image: Image) -> Iterator[WorkspaceVolume]:
    with WorkspaceVolume(client, image.tag, Owner.current(), RUN) as volume:
        yield volume


@dataclass(frozen=True)
class Shell(AgentBase):
    """An agent that is a shell command."""

    script: str
    name: str = "shell"
    version: str = "1"
    needs_tools: bool = False

    def command(self) -> tuple[str, ...]:
        return ("sh", "-c", self.script) if self.script else ("/no/such/program",)

    def files(self) -> Mapping[str, bytes]:
        return {"extra.txt": b"extra"}

    def env(self) -> Mapping[str, str]:
        return {"COLOUR": "blue"}

    def finished(self, _events: Sequence[AgentEvent]) -> bool | None:
        return None


Run = Callable[..., tuple[AgentRun, tuple[Exchange, ...]]]


@pytest.fixture
def run(client: docker.DockerClient, image: Image, volume: WorkspaceVolume, tmp_path: Path) -> Run:
    def run(
        agent: object, script: Script = SOLVE, seconds: float = 60.0, limits: AgentLimits | None = None
    ) -> tuple[AgentRun, tuple[Exchange, ...]]:
        exchange = Path(tempfile.mkdtemp(dir=tmp_path))
        with (
            ScriptedServer(script) as server,
            RecordingProxy(
                server.url, exchange / SOCKET_NAME, policy(response_tokens=10_000), tmp_path / "log"
            ) as proxy,
        ):
            ran = run_agent(
                client, image.tag, agent, "Do it.", volume=volume.name, exchange_dir=exchange, seconds=seconds,
                owner=Owner.current(), run_id=RUN, on_start=lambda started: proxy.start_clock(started, seconds),
                limits=limits or AgentLimits(),
            )  # type: ignore[arg-type]  # fmt: skip
        left = client.containers.list(
            all=True, ignore_removed=True, filters={"label": [f"agentgrade.run={RUN}", "agentgrade.role=agent"]}
        )
        assert left == []
        return ran, proxy.exchanges

    return run


def tree(volume: WorkspaceVolume) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(b"".join(volume.read_tar()))) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive if m.isreg()}  # type: ignore[union-attr]


def test_the_built_in_agent_solves_a_task(run: Run, volume: WorkspaceVolume) -> None:
    ran, exchanges = run(ToolLoop())
    assert (ran.ended, ran.exit_code, ran.finished, ran.oom_killed) == (AgentEnd.EXITED, 0, True, False)
    assert ran.stderr_tail == ""
    assert [e.cut for e in exchanges] == [None] * 4
    assert [e.tool_calls[0].name for e in exchanges] == ["list_files", "write_file", "run", "finish"]
    assert exchanges[0].request["messages"][1]["content"] == "Do it."
    assert 0 < exchanges[0].requested_at < exchanges[-1].ended_at < ran.seconds
    assert [event.data["event"] for event in ran.events][:3] == ["start", "turn", "tool"]
    assert tree(volume)["./pkg/a.py"] == b"x = 1\n"


def test_the_clock_kills_the_agent_and_its_work_stays(run: Run, volume: WorkspaceVolume) -> None:
    ran, exchanges = run(ToolLoop(), slow({"pkg/b.py": "y = 2\n"}), seconds=2.5)
    assert (ran.ended, ran.exit_code, ran.finished) == (AgentEnd.CLOCK, None, None)
    assert 2.5 <= ran.seconds < 10
    cut = [exchange for exchange in exchanges if exchange.reasoning and exchange.cut]
    assert [exchange.cut in (Cut.DEADLINE, Cut.CLIENT) for exchange in cut] == [True]  # whichever clock was first
    assert tree(volume)["./pkg/b.py"] == b"y = 2\n"


def test_an_agents_surroundings(run: Run) -> None:
    ran, _ = run(Shell("pwd; echo $HOME $COLOUR; cat /exchange/extra.txt; echo; touch /exchange/x /x; "
                       "echo '{\"event\": \"odd\\u001b\", \"deep\": [1]}'; exit 3"))  # fmt: skip
    assert (ran.ended, ran.exit_code) == (AgentEnd.EXITED, 3)
    assert ran.stdout_tail.startswith("/work\n/tmp blue\nextra")
    assert ran.stderr_tail.count("Read-only file system") == 2
    assert [event.data for event in ran.events] == [{"event": "odd\\x1b", "deep": "[1]"}]


def test_output_without_end_is_ended(run: Run) -> None:
    ran, _ = run(Shell("yes"), limits=AgentLimits(output_bytes=1_000_000))
    assert (ran.ended, ran.exit_code) == (AgentEnd.KILLED, None)
    assert len(ran.stdout_tail) <= 8_000


def test_memory_has_a_limit(run: Run) -> None:
    ran, _ = run(
        Shell("python3 -c 'b\"x\" * 200_000_000'"), limits=AgentLimits(memory_bytes=64 << 20, tmp_bytes=1 << 20)
    )
    assert ran.oom_killed
    assert ran.ended is AgentEnd.EXITED


def test_a_program_that_is_missing_is_a_crash(run: Run) -> None:
    ran, _ = run(Shell(""))
    assert (ran.ended, ran.exit_code) == (AgentEnd.EXITED, 127)
    assert "cannot run /no/such/program" in ran.stderr_tail


def test_a_forwarder_that_cannot_run_is_no_run_of_the_agent(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_agentgrade.attempt.agents.runner._FORWARDER", "missing.py")
    monkeypatch.setattr("pytest_agentgrade.attempt.agents.runner._fill", lambda *_: None)
    with pytest.raises(AgentError, match="not started"):
        run(ToolLoop())
