from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.attempt.server import ServerConfig, ServerKind, launch
from pytest_agentgrade.errors import HostError, SettingsError
from tests.attempt.server.conftest import BASELINE, MTP, Launcher, chat

GIVEN = Mode("given")


def test_a_server_that_runs_already_is_probed_and_left_alone(launched: Launcher, tmp_path: Path) -> None:
    with launched(MTP) as ours:
        config = ServerConfig(server=ours.url + "/v1/")
        with launch(GIVEN, config, log_path=tmp_path / "no.log", lock_dir=tmp_path / "locks") as server:
            assert server.url == ours.url
            assert server.info.kind is ServerKind.URL
            assert server.info.argv == () and server.info.model_sha256 == ""
            assert server.info.context == ours.info.context
            assert server.info.props_digest == ours.info.props_digest
            assert server.speculating() is True and server.supports_tools is True
            assert chat(server)["timings"]["draft_n"] > 0
            assert server.pid is None and server.peak_rss_bytes() is None and server.log_tail() == ""
        assert ours.alive()
        assert not (tmp_path / "no.log").exists()
        ours_pid = ours.pid
    assert ours_pid is not None
    assert not server.alive()


def test_flags_for_a_server_that_runs_already_are_an_error(tmp_path: Path) -> None:
    mode = dataclasses.replace(BASELINE, server="http://127.0.0.1:9")
    with (
        pytest.raises(SettingsError, match="runs already"),
        launch(mode, ServerConfig(), log_path=tmp_path / "log", lock_dir=tmp_path),
    ):
        pass


def test_no_answer_is_the_hosts_fault(tmp_path: Path) -> None:
    config = ServerConfig(server="http://127.0.0.1:9", start_timeout=0.1)
    said: list[str] = []
    served = launch(GIVEN, config, log_path=tmp_path / "log", lock_dir=tmp_path, say=said.append)
    with pytest.raises(HostError) as caught, served:
        pass
    assert "no server answers at http://127.0.0.1:9" in str(caught.value)
    assert said == ["waiting: the server at http://127.0.0.1:9 does not answer (0 s of at most 0 s)"]
