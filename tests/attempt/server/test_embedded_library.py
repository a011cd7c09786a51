"""The embedded server's library that cannot be loaded: told before a run, mended by setup where apt can."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_agentgrade.attempt.server import embedded_library
from pytest_agentgrade.attempt.server.embedded_library import prepare_library, require_library
from pytest_agentgrade.errors import SettingsError

MISSING = "libgomp.so.1: cannot open shared object file: No such file or directory"


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A stand-in for the package that fails as the real one does where a system library is missing, until mended."""
    package = tmp_path / "xllamacpp.py"
    package.write_text(f"import os\nif not os.path.exists({str(tmp_path / 'mended')!r}):\n"
                       f"    raise ImportError({MISSING!r})\n")  # fmt: skip
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    embedded_library._trouble.cache_clear()
    yield tmp_path
    embedded_library._trouble.cache_clear()


def test_library_that_loads_is_said_nothing_of() -> None:
    said: list[str] = []
    prepare_library(said.append)
    require_library()
    assert said == []


@pytest.mark.usefixtures("broken")
def test_missing_system_library_is_told_with_the_package_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_library, "can_install", lambda: False)
    with pytest.raises(SettingsError, match=r"libgomp\.so\.1.*`apt-get install libgomp1` as root, or name a"):
        require_library()
    said: list[str] = []
    prepare_library(said.append)
    assert said == [f"the embedded server cannot be used: {MISSING}"]


def test_setup_installs_the_system_library(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[tuple[str, ...]] = []

    def install(packages: tuple[str, ...], _log: object, _by_hand: str) -> None:
        installed.append(packages)
        (broken / "mended").touch()

    monkeypatch.setattr(embedded_library, "can_install", lambda: True)
    monkeypatch.setattr(embedded_library, "install_packages", install)
    said: list[str] = []
    prepare_library(said.append)
    require_library()
    assert installed == [("libgomp1",)] and said == []


def test_the_real_library_is_imported_in_a_process_of_its_own() -> None:
    program = (
        "import sys; from pytest_agentgrade.attempt.server.embedded_library import require_library; "
        "require_library(); print('xllamacpp' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
