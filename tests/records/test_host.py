from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pytest_agentgrade.records.host import describe_gpus, process_vram_bytes


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in place of NVIDIA's; tests write what it says."""
    program = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return program


def say(program: Path, *lines: str, code: int = 0) -> None:
    said = "\n".join(lines)
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{said}\nEND\nexit {code}\n")
    program.chmod(0o755)


def test_memory_of_a_process_and_its_children(nvidia_smi: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        say(nvidia_smi, f"{child.pid}, 20480", f"{os.getpid()}, 512", "1, 999")
        assert process_vram_bytes(os.getpid()) == 20_992 << 20
        assert process_vram_bytes(child.pid) == 20_480 << 20
        child.kill()


def test_memory_on_several_gpus_adds_up(nvidia_smi: Path) -> None:
    say(nvidia_smi, f"{os.getpid()}, 100", "[N/A], 7", f"{os.getpid()}, 24", f"{os.getpid()}, [N/A]", "", "no row")
    assert process_vram_bytes(os.getpid()) == 124 << 20
    say(nvidia_smi, "NVIDIA RTX 3090, 570.1, 24576 MiB, 3 MiB", "NVIDIA RTX 4090, 570.1, 24564 MiB, 0 MiB")
    assert [line.split(",")[0] for line in describe_gpus()] == ["NVIDIA RTX 3090", "NVIDIA RTX 4090"]


@pytest.mark.parametrize(
    "program", ["#!/nowhere/at/all\n", "#!/bin/sh\nexec sleep 60\n", "#!/bin/sh\nprintf '\\377'\n"]
)
def test_a_broken_driver_stops_nothing(nvidia_smi: Path, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_agentgrade.records.host._SMI_SECONDS", 0.5)
    nvidia_smi.write_text(program)
    nvidia_smi.chmod(0o755)
    assert describe_gpus() == [] and process_vram_bytes(os.getpid()) is None


def test_nothing_is_claimed_of_other_makers_gpus(nvidia_smi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(nvidia_smi.parent))
    say(nvidia_smi.with_name("rocm-smi"), "GPU[0]: AMD Instinct")
    assert describe_gpus() == [] and process_vram_bytes(os.getpid()) is None


def test_what_is_not_told_is_unknown(nvidia_smi: Path) -> None:
    assert process_vram_bytes(os.getpid()) is None, "no such program"
    say(nvidia_smi, f"{os.getpid()}, [N/A]")
    assert process_vram_bytes(os.getpid()) is None
    say(nvidia_smi, f"{os.getpid()}, 100", code=9)
    assert process_vram_bytes(os.getpid()) is None and describe_gpus() == []
