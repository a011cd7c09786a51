from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentgrade.sandbox import doctor
from pytest_agentgrade.sandbox.image import Image


def by_name(image: str | None = None) -> dict[str, doctor.Requirement]:
    return {found.name: found for found in doctor.checks(image)}


def test_this_machine_is_fit(image: Image) -> None:
    found = by_name()
    assert list(found) == [
        "Python", "operating system", "git", "memory", "Docker engine", "sandbox image", "container limits",
        "disk space",
    ]  # fmt: skip
    assert {name: one.remedy for name, one in found.items() if not one.ok} == {}
    assert found["sandbox image"].state == image.tag
    assert found["container limits"].state == "memory limit is kept"


def test_missing_image_names_the_remedy() -> None:
    found = by_name("agentgrade-nothing:1")
    assert not found["sandbox image"].ok
    assert "docker pull agentgrade-nothing:1" in found["sandbox image"].remedy
    assert found["container limits"].ok


def test_no_engine_is_one_failed_requirement(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    found = by_name()
    assert not found["Docker engine"].ok
    assert "DOCKER_HOST" in found["Docker engine"].remedy
    assert found["git"].ok


def test_engine_that_cannot_limit_is_told() -> None:
    told = doctor._limits_as_told({"MemoryLimit": True, "SwapLimit": False, "PidsLimit": True, "CpuCfsQuota": False})
    assert (told.ok, told.state) == (False, "the engine cannot set SwapLimit, CpuCfsQuota")
    assert "cgroup" in told.remedy


def test_old_git_and_little_memory_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "git"
    old.write_text("#!/bin/sh\necho git version 2.25.1\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not doctor._git().ok
    monkeypatch.setenv("PATH", "/nowhere")
    assert doctor._git().state == "not found"
    monkeypatch.setattr(doctor, "_read", lambda _: "MemTotal: 9999999 kB\nMemAvailable:  1000 kB\n")
    assert not doctor._memory().ok
