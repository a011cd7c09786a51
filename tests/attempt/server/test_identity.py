"""Two servers of one version may be two builds, or be asked for other kernels by their environment."""

from __future__ import annotations

import hashlib
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from pytest_agentgrade.attempt.server import ServerKind
from pytest_agentgrade.attempt.server.command import file_sha256
from pytest_agentgrade.attempt.server.identity import program_sha256, told_environment
from pytest_agentgrade.attempt.serving import server_phase
from tests.attempt.server.conftest import BASELINE, Launcher


def test_only_what_changes_how_the_server_computes_is_told_and_no_key() -> None:
    told = told_environment({
        "OMP_NUM_THREADS": "3", "GGML_CUDA_FORCE_MMQ": "1", "LLAMA_API_KEY": "hidden from you", "HF_TOKEN": "hf_123",
        "HOME": "/root", "CUDA_VISIBLE_DEVICES": "0\x1b[31m", "XLLAMA_X": "1",
    })  # fmt: skip
    assert list(told.items()) == [
        ("CUDA_VISIBLE_DEVICES", "0\\x1b[31m"), ("GGML_CUDA_FORCE_MMQ", "1"), ("LLAMA_API_KEY", "(hidden)"),
        ("OMP_NUM_THREADS", "3"),
    ]  # fmt: skip


def test_a_launched_server_tells_its_library_and_environment(
    launched: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GGML_MADE_UP", "on")
    monkeypatch.setenv("LLAMA_ARG_THREADS", "7")
    with launched(BASELINE) as server:
        phase = server_phase(server, BASELINE, 1.0)
    assert phase.environment is not None and phase.environment["GGML_MADE_UP"] == "on"
    assert "LLAMA_ARG_THREADS" not in phase.environment, "the server does not get it"
    spec = find_spec("xllamacpp")
    assert spec is not None and spec.origin is not None
    (library,) = Path(spec.origin).parent.glob("*.so")
    assert phase.program_sha256 == hashlib.sha256(library.read_bytes()).hexdigest()


def test_a_binary_is_read_again_only_when_it_was_built_anew(tmp_path: Path) -> None:
    program = tmp_path / "llama-server"
    program.write_bytes(b"one")
    os.utime(program, ns=(1, 1))
    found = program_sha256(ServerKind.BINARY, (str(program), "-m", "x"))
    assert found == hashlib.sha256(b"one").hexdigest()
    program.write_bytes(b"two")
    os.utime(program, ns=(1, 1))
    assert file_sha256(program) == found, "size and time say that it is the same"
    os.utime(program, ns=(2, 2))
    assert program_sha256(ServerKind.BINARY, (str(program),)) == hashlib.sha256(b"two").hexdigest()


def test_what_cannot_be_read_and_a_url_are_not_known(tmp_path: Path) -> None:
    assert program_sha256(ServerKind.BINARY, (str(tmp_path / "gone"),)) == ""
    assert program_sha256(ServerKind.URL, ()) == ""
