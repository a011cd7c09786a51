from __future__ import annotations

import dataclasses
import os
import signal
import socket
import time
from pathlib import Path

import pytest

from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.attempt.server import ProofStatus, RunningServer, ServerConfig, ServerKind, launch, prove_mode
from pytest_agentgrade.attempt.server import launching as launching_module
from pytest_agentgrade.errors import HostError, SettingsError
from tests.attempt.server.conftest import BASELINE, DEMO, MTP, Launcher, chat


def test_baseline_serves_tools_without_drafts(launched: Launcher) -> None:
    seen: list[int] = []
    with launched(BASELINE, watch=seen.append) as server:
        first, second = chat(server), chat(server)
        message = first["choices"][0]["message"]
        assert [call["function"]["name"] for call in message["tool_calls"]] == ["read_file"]
        assert message["reasoning_content"]
        assert "draft_n" not in first["timings"]
        assert second["timings"]["cache_n"] == 0, "the same prompt again must be processed again"
        assert second["usage"] == first["usage"]
        counters = server.metrics()
        assert counters is not None and counters.drafted == 0
        proof = prove_mode(BASELINE, server.speculating(), counters.drafted, counters.accepted)
        assert proof.status is ProofStatus.PROVEN
        assert seen == [server.pid]
        assert server.alive() and server.exit_status() is None
    assert not server.alive()
    assert server.exit_status() == 0


def test_mtp_drafts_and_is_proved_to(launched: Launcher) -> None:
    with launched(MTP) as server:
        answer = chat(server)
        assert answer["choices"][0]["finish_reason"] == "tool_calls"
        assert answer["timings"]["draft_n"] >= answer["timings"]["draft_n_accepted"] > 0
        assert answer["timings"]["cache_n"] == 0
        counters = server.metrics()
        assert counters is not None and counters.drafted >= answer["timings"]["draft_n"] and counters.steps > 0
        assert server.info.speculative is True
        proof = prove_mode(MTP, server.speculating(), counters.drafted, counters.accepted)
        assert proof.status is ProofStatus.PROVEN
        assert prove_mode(BASELINE, server.speculating(), counters.drafted, 0).status is ProofStatus.CONTRADICTED


def test_what_a_server_says_of_itself(launched: Launcher, tmp_path: Path) -> None:
    config = dataclasses.replace(DEMO, alias="tiny", context=2048)
    with launched(BASELINE, config) as server:
        info = server.info
        assert info.kind is ServerKind.EMBEDDED
        assert info.build.startswith("xllamacpp ")
        assert info.context == 2048
        assert info.speculative is False
        assert len(info.model_sha256) == len(info.props_digest) == 64
        assert info.argv[-4:-1] == ("--host", "127.0.0.1", "--port") and "tiny" in info.argv
        assert server.supports_tools is True
        assert server.tokenize("<think>") == 1 < server.tokenize("some longer text")
        before = server.peak_rss_bytes()
        assert before is not None and before > 10_000_000
    assert server.peak_rss_bytes() == before
    assert "main loop" in server.log_tail()
    with launched(MTP, config) as other:
        assert other.info.props_digest == info.props_digest, "speculation alone must not look like another server"
    assert (tmp_path / "server.log").stat().st_size > 0


def test_a_killed_server_is_noticed_at_once(launched: Launcher) -> None:
    with launched(BASELINE) as server:
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        deadline = time.monotonic() + 5
        while server.alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not server.alive()
        assert server.exit_status() == -signal.SIGKILL


def test_an_error_inside_the_block_stops_the_server(launched: Launcher) -> None:
    caught: list[RunningServer] = []
    with pytest.raises(KeyboardInterrupt), launched(BASELINE) as server:
        caught.append(server)
        raise KeyboardInterrupt
    assert not caught[0].alive()


def test_a_model_that_cannot_be_loaded_shows_the_last_lines(launched: Launcher, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 100)
    with pytest.raises(HostError) as caught, launched(BASELINE, dataclasses.replace(DEMO, model=broken)):
        pass
    assert "exit code 1 before it was ready" in str(caught.value)
    assert "broken.gguf" in str(caught.value)


def test_a_port_taken_in_between_is_tried_once_more(launched: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
    real = launching_module._free_port
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = holder.getsockname()[1]
        ports = iter([taken])
        monkeypatch.setattr(launching_module, "_free_port", lambda: next(ports, None) or real())
        with launched(BASELINE) as server:
            assert server.url != f"http://127.0.0.1:{taken}"
            assert server.alive()
        ports = iter([taken, taken])
        with pytest.raises(HostError, match="couldn't bind"), launched(BASELINE):
            pass


def test_one_server_at_a_time_for_each_device(tmp_path: Path) -> None:
    impatient = dataclasses.replace(DEMO, lock_timeout=0.1)
    places = {"log_path": tmp_path / "a.log", "lock_dir": tmp_path}
    with launch(BASELINE, DEMO, **places):
        with pytest.raises(HostError, match="another run has held"), launch(BASELINE, impatient, **places):
            pass
        other = launch(BASELINE, impatient, log_path=tmp_path / "b.log", lock_dir=tmp_path, device="1")
        with other as second:
            assert second.alive()
    with launch(BASELINE, impatient, **places) as again:
        assert again.alive()


def test_hidden_flags_of_the_environment_do_not_reach_the_server(
    launched: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMA_ARG_CTX_SIZE", "512")
    with launched(BASELINE) as server:
        environment = Path(f"/proc/{server.pid}/environ").read_bytes()
    assert b"LLAMA_ARG_" not in environment
    with launched(BASELINE, dataclasses.replace(DEMO, env=(("LLAMA_ARG_X", "1"),))) as server:
        assert b"LLAMA_ARG_X=1" in Path(f"/proc/{server.pid}/environ").read_bytes()


@pytest.mark.parametrize(
    ("mode", "config", "said"),
    [
        (Mode("a", ("--spec-typo", "none")), DEMO, "did you mean --spec-type?"),
        (BASELINE, ServerConfig(), "mode baseline has no model"),
        (Mode("a", model="/no/such.gguf"), DEMO, "/no/such.gguf of mode a is not a file"),
        (Mode("a", server="no-such-server"), DEMO, "'no-such-server' is no program"),
        (Mode("a", server="true"), DEMO, "does not look like that of llama-server"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_starts(
    launched: Launcher, tmp_path: Path, mode: Mode, config: ServerConfig, said: str
) -> None:
    with pytest.raises(SettingsError) as caught, launched(mode, config):
        pass
    assert said in str(caught.value)
    assert not (tmp_path / "server.log").exists()


def test_a_missing_xllamacpp_names_the_remedy(launched: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(SettingsError) as caught, launched(BASELINE):
        pass
    assert "pip install 'pytest-agentgrade[embedded]'" in str(caught.value)
