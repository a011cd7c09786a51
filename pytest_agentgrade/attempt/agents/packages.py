"""Agents from npm and PyPI: which version, and how an image of it is made."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import MappingProxyType

import docker

from pytest_agentgrade.assignment.settings import suggest
from pytest_agentgrade.errors import HostError, SettingsError
from pytest_agentgrade.sandbox.derive import find_prepared
from pytest_agentgrade.sandbox.image import Image, ensure_image, image_tag
from pytest_agentgrade.sandbox.layer import add_layer, is_binary, needed_libraries

REPOSITORY = "agentgrade-agent"
RECIPE = 1
"""Raise it whenever the way of building changes: it is part of the images' names."""
PLACE = "opt/agent"
"""Where an image has the agent, below its root."""
AGENT_PATH = f"/{PLACE}/bin:/usr/local/bin:/usr/bin"
"""PATH for an agent in such an image."""
_INSTALL_SECONDS = 1_800.0
Log = Callable[[str], None]


class Registry(Enum):
    """Where packages come from."""

    NPM = "npm"
    PYPI = "PyPI"


@dataclass(frozen=True)
class AgentPackage:
    """A package at a version that the adapter was tried with."""

    agent: str
    registry: Registry
    package: str
    version: str
    programs: tuple[tuple[str, str], ...] = ()
    """Name in ``bin``, and the program's path below :data:`PLACE`."""
    needs_node: bool = False
    pins: tuple[str, ...] = ()
    """Further requirements, for what the package itself leaves open."""

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
        )
        digest = hashlib.sha256(repr(inputs).encode()).hexdigest()
        return f"{REPOSITORY}:{self.agent}-{self.version}-{digest[:12]}"

    @property
    def hint(self) -> str:
        """What to do when the image is not there."""
        return f"run `agentgrade setup --agent {self.agent}`"


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
            "opencode", Registry.NPM, opencode, "1.18.33",
            # It would download ripgrep for its tools glob and grep, and cannot.
            pins=(f"{ripgrep}@1.18.0",),
            programs=(
                ("opencode", f"node_modules/{opencode}/bin/opencode"), ("rg", f"node_modules/{ripgrep}/bin/rg"),
            ),
        ),
        AgentPackage("mini-swe-agent", Registry.PYPI, "mini-swe-agent", "2.4.6"),
        AgentPackage("aider", Registry.PYPI, "aider-chat", "0.86.2"),
        AgentPackage("qwen-code", Registry.NPM, "@qwen-code/qwen-code", "0.15.10", needs_node=True),
    )  # fmt: skip
    return MappingProxyType({package.agent: package for package in listed})


PACKAGES = _packages()
"""Agent's name -> its package."""


def find_package(agent: str) -> AgentPackage:
    """The package of an agent that has one; SettingsError otherwise."""
    if agent not in PACKAGES:
        raise SettingsError(f"agent {agent!r} has no image to be made", suggest(agent, PACKAGES))
    return PACKAGES[agent]


def build_agent_image(client: docker.DockerClient, package: AgentPackage, log: Log = print) -> Image:
    """The agent's image, made if it is not there: the sandbox image with the package and what it needs.

    The package is installed into a temporary folder with this machine's npm or pip. Raises HostError.
    """
    if (found := find_prepared(client, package.tag)) is not None:
        log(f"image {package.tag} is there")
        return Image(package.tag, *found)
    base = ensure_image(client, log=log)
    with tempfile.TemporaryDirectory(prefix="agentgrade-agent-") as folder:
        root = Path(folder, "root")
        home = root / PLACE
        (home / "bin").mkdir(parents=True)
        log(f"installing {package.package} {package.version} from {package.registry.value}")
        install = {Registry.NPM: _install_npm, Registry.PYPI: _install_pypi}[package.registry]
        install(package, home, Path(folder))
        for name, path in package.programs:
            _link_program(package, home, name, path)
        needed_libraries(root, _binaries(home))
        log(f"building {package.tag}")
        labels = {"agentgrade.agent": package.agent, "agentgrade.agent-version": package.version}
        made = add_layer(client, base.id, package.tag, root, labels)
    return Image(package.tag, made, base.python)


def _install_npm(package: AgentPackage, home: Path, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise HostError(f"npm is needed to install {package.package}", "install Node.js with npm, or give agent_image")
    flags = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--omit=dev", "--force")
    wanted = (f"{package.package}@{package.version}", *package.pins)
    _run((npm, "install", *flags, "--prefix", str(home), *wanted), folder)
    if package.needs_node:
        node = shutil.which("node")
        if node is None:
            raise HostError(f"node is needed to run {package.package}", "install Node.js, or give agent_image")
        shutil.copy(Path(node).resolve(), home / "bin" / "node")


def _install_pypi(package: AgentPackage, home: Path, folder: Path) -> None:
    target = home / "lib"
    flags = ("--no-compile", "--no-warn-script-location", "--disable-pip-version-check", "--quiet")
    wanted = (f"{package.package}=={package.version}", *package.pins)
    _run((sys.executable, "-m", "pip", "install", *flags, "--target", str(target), *wanted), folder)
    # "Unchecked": the files are taken as they are, whatever their time stamps become in the image.
    program = (
        "import compileall, py_compile, sys; "
        "compileall.compile_dir(sys.argv[1], quiet=2, workers=1, stripdir=sys.argv[1], prependdir=sys.argv[2], "
        "invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)"
    )
    _run((sys.executable, "-I", "-c", program, str(target), f"/{PLACE}/lib"), folder)


def _link_program(package: AgentPackage, home: Path, name: str, path: str) -> None:
    program = home / path
    if not program.is_file():
        raise HostError(f"{package.package} {package.version} has no {path}", "please report it")
    program.chmod(0o755)
    (home / "bin" / name).symlink_to(os.path.relpath(program, home / "bin"))


def _binaries(home: Path) -> list[Path]:
    """Programs, and the native modules of Python packages."""
    names = ("*.so", "*.so.*", "bin/*")
    found = {path.resolve() for name in names for path in home.rglob(name) if is_binary(path.resolve())}
    return sorted(found)


def _run(command: tuple[str, ...], folder: Path) -> None:
    """Run an installer with a cache of its own user and without its questions."""
    environment = {**os.environ, "CI": "1", "PIP_NO_INPUT": "1"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_INSTALL_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(f"`{command[0]}` failed: {error}") from error
    if done.returncode != 0:
        said = "; ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
        raise HostError(f"`{' '.join(command[:4])} ...` failed: {said}", "is the registry within reach?")
