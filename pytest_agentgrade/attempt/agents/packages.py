"""Agents from npm and PyPI: which package, which version, and the name of its image."""

from __future__ import annotations

import functools
import hashlib
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from types import MappingProxyType

from pytest_agentgrade.assignment.settings import VERSION_FORM, Settings, suggest
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.sandbox.image import image_tag

REPOSITORY = "agentgrade-agent"
RECIPE = 2
"""Raise it whenever the way of building changes: it is part of the images' names."""
PLACE = "opt/agent"
"""Where an image has the agent, below its root."""
AGENT_PATH = f"/{PLACE}/bin:/usr/local/bin:/usr/bin"
"""PATH for an agent in such an image."""
LOCKS = Path(__file__).parent / "locks"
"""Folder of the files that hold, for an agent whose package leaves it open, the versions of all that it needs."""


class Registry(Enum):
    """Where packages come from."""

    NPM = "npm"
    PYPI = "PyPI"


@dataclass(frozen=True)
class AgentPackage:
    """A package at a version."""

    agent: str
    registry: Registry
    package: str
    version: str
    tried: str
    """The version that the adapter was tried with."""
    programs: tuple[tuple[str, str], ...] = ()
    """Name in ``bin``, and the program's path below :data:`PLACE`."""
    needs_node: bool = False
    pins: tuple[str, ...] = ()
    """Further requirements, for what the package itself leaves open."""

    @property
    def lock(self) -> Path | None:
        """A pip constraints file, one ``name==version`` a line, made for the version tried; None where there is none.

        Packages from npm need none: those listed here name all that they need by exact versions.
        """
        path = LOCKS / f"{self.agent}.txt"
        return path if self.version == self.tried and path.is_file() else None

    @property
    def tag(self) -> str:
        """Name of its image: made of all that goes into it, the sandbox image it stands on included."""
        inputs = (
            RECIPE,
            _base_tag(),
            self.registry.value,
            self.package,
            self.version,
            self.programs,
            self.needs_node,
            self.pins,
            self.lock.read_bytes() if self.lock else b"",
        )
        digest = hashlib.sha256(repr(inputs).encode()).hexdigest()
        return f"{REPOSITORY}:{self.agent}-{self.version}-{digest[:12]}".replace("+", "_")

    @property
    def hint(self) -> str:
        """What to do when the image is not there."""
        version = "" if self.version == self.tried else f" --agent-version {self.version}"
        return f"run `agentgrade setup --agent {self.agent}{version}`"

    def at(self, version: str | None) -> AgentPackage:
        """The package at another version; None: as it is."""
        return self if version is None else replace(self, version=version)


@functools.cache
def _base_tag() -> str:
    return image_tag()


def _processor() -> str:
    """As npm packages name it."""
    return "arm64" if platform.machine() in ("aarch64", "arm64") else "x64"


def _opencode_platform() -> str:
    """The package with the binary for this machine's processor."""
    if _processor() == "arm64":
        return "opencode-linux-arm64"
    try:
        has_avx2 = " avx2 " in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").replace("\n", " ")
    except OSError:
        has_avx2 = False
    return "opencode-linux-x64" if has_avx2 else "opencode-linux-x64-baseline"


def _packages() -> Mapping[str, AgentPackage]:
    opencode, ripgrep = _opencode_platform(), f"@vscode/ripgrep-linux-{_processor()}"
    listed = (
        AgentPackage(
            "opencode", Registry.NPM, opencode, "1.18.33", "1.18.33",
            # It would download ripgrep for its tools glob and grep, and cannot.
            pins=(f"{ripgrep}@1.18.0",),
            programs=(
                ("opencode", f"node_modules/{opencode}/bin/opencode"), ("rg", f"node_modules/{ripgrep}/bin/rg"),
            ),
        ),
        AgentPackage("mini-swe-agent", Registry.PYPI, "mini-swe-agent", "2.4.6", "2.4.6"),
        AgentPackage("aider", Registry.PYPI, "aider-chat", "0.86.2", "0.86.2"),
        AgentPackage("qwen-code", Registry.NPM, "@qwen-code/qwen-code", "0.15.10", "0.15.10", needs_node=True),
    )  # fmt: skip
    return MappingProxyType({package.agent: package for package in listed})


PACKAGES = _packages()
"""Agent's name -> its package at the version tried."""


def find_package(agent: str, version: str | None = None) -> AgentPackage:
    """The package of an agent that has one, at a version of one's choice; SettingsError otherwise."""
    if agent not in PACKAGES:
        raise SettingsError(f"agent {agent!r} has no image to be made", suggest(agent, PACKAGES))
    if version is not None and not re.fullmatch(VERSION_FORM, version):
        raise SettingsError(f"{version!r} is no version of {agent}", f"such as {PACKAGES[agent].version}")
    return PACKAGES[agent].at(version)


def check_version(settings: Settings) -> None:
    """SettingsError when the settings choose a version where there is none to be chosen."""
    if settings.agent_version is None:
        return
    what = f"agent_version = {settings.agent_version!r}"
    if settings.agent not in PACKAGES:
        raise SettingsError(
            f"{what}: agent {settings.agent} has no version to choose",
            f"leave it out; it is for {', '.join(sorted(PACKAGES))}",
        )
    if settings.agent_image is not None:
        raise SettingsError(f"{what}: agent_image says which version runs", "give one of the two")
