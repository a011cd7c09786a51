"""Making the image of an agent from npm or PyPI, and reading from it what was installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import docker
import requests
from docker.errors import DockerException

from pytest_agentgrade.attempt.agents.packages import PLACE, AgentPackage, Registry
from pytest_agentgrade.errors import HostError
from pytest_agentgrade.sandbox.derive import find_prepared
from pytest_agentgrade.sandbox.image import Image, ensure_image
from pytest_agentgrade.sandbox.layer import add_layer, is_binary, needed_libraries
from pytest_agentgrade.sandbox.system_packages import can_install, find_program, install_packages
from pytest_agentgrade.sandbox.temporary import temporary_folder

PACKAGES_LABEL = "agentgrade.agent-packages"
"""Label of an image: ``name==version`` of all that was installed, with a space between."""
_INSTALL_SECONDS = 1_800.0
_NODE_BY_HAND = "install Node.js with npm, or give agent_image"
Log = Callable[[str], None]


def build_agent_image(client: docker.DockerClient, package: AgentPackage, log: Log = print) -> Image:
    """The agent's image, made if it is not there: the sandbox image with the package and what it needs.

    The package is installed into a temporary folder with this machine's npm or pip. Raises HostError.
    """
    if (found := find_prepared(client, package.tag)) is not None:
        log(f"image {package.tag} is there")
        return Image(package.tag, *found)
    base = ensure_image(client, log=log)
    with temporary_folder() as folder:
        root = folder / "root"
        home = root / PLACE
        (home / "bin").mkdir(parents=True)
        _prepare_installer(package, log)
        log(f"installing {package.package} {package.version} from {package.registry.value}")
        install = {Registry.NPM: _install_npm, Registry.PYPI: install_pypi}[package.registry]
        resolved = install(package, home, folder)
        for name, path in package.programs:
            _link_program(package, home, name, path)
        needed_libraries(root, _binaries(home))
        log(f"building {package.tag}")
        labels = {
            "agentgrade.agent": package.agent,
            "agentgrade.agent-version": package.version,
            PACKAGES_LABEL: " ".join(f"{name}=={version}" for name, version in sorted(resolved.items())),
        }
        made = add_layer(client, base.id, package.tag, root, labels)
    return Image(package.tag, made, base.python)


def _prepare_installer(package: AgentPackage, log: Log) -> None:
    """Have npm, which apt can bring, for what comes from there."""
    if package.registry is Registry.NPM and find_program("npm") is None and can_install():
        install_packages(("nodejs", "npm"), log, _NODE_BY_HAND)


def installed_packages(client: docker.DockerClient, image_id: str) -> tuple[str, ...]:
    """``name==version`` of all that an image we made has beside the sandbox image; empty for others. HostError."""
    api: Any = client.api
    try:
        labels = api.inspect_image(image_id)["Config"].get("Labels") or {}
    except (DockerException, requests.RequestException) as error:
        raise HostError(f"cannot look at image {image_id}: {error}") from error
    return tuple(str(labels.get(PACKAGES_LABEL, "")).split())


def _install_npm(package: AgentPackage, home: Path, folder: Path) -> Mapping[str, str]:
    """Name -> version of all that was installed."""
    npm = shutil.which("npm")
    if npm is None:
        raise HostError(f"npm is needed to install {package.package}", _NODE_BY_HAND)
    flags = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--omit=dev", "--force")
    wanted = (f"{package.package}@{package.version}", *package.pins)
    _run((npm, "install", *flags, "--prefix", str(home), *wanted), folder)
    if package.needs_node:
        node = shutil.which("node")
        if node is None:
            raise HostError(f"node is needed to run {package.package}", "install Node.js, or give agent_image")
        shutil.copy(Path(node).resolve(), home / "bin" / "node")
    # npm's own account of what it put there.
    listed = json.loads((home / "node_modules" / ".package-lock.json").read_text(encoding="utf-8"))["packages"]
    resolved = {path.rpartition("node_modules/")[2]: str(entry["version"]) for path, entry in listed.items()}
    return resolved | ({"node": _run((str(home / "bin" / "node"), "--version"), folder)} if package.needs_node else {})


def install_pypi(package: AgentPackage, home: Path, folder: Path) -> Mapping[str, str]:
    """Name -> version of all that was installed below ``home``; by the lock, where the package has one."""
    target = home / "lib"
    flags = ("--no-compile", "--no-warn-script-location", "--disable-pip-version-check", "--quiet")
    lock = ("--constraint", str(package.lock)) if package.lock else ()
    wanted = (f"{package.package}=={package.version}", *package.pins)
    _run((sys.executable, "-m", "pip", "install", *flags, *lock, "--target", str(target), *wanted), folder)
    # "Unchecked": the files are taken as they are, whatever their time stamps become in the image.
    program = (
        "import compileall, py_compile, sys; "
        "compileall.compile_dir(sys.argv[1], quiet=2, workers=1, stripdir=sys.argv[1], prependdir=sys.argv[2], "
        "invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)"
    )
    _run((sys.executable, "-I", "-c", program, str(target), f"/{PLACE}/lib"), folder)
    return {found.name: found.version for found in distributions(path=[str(target)])}


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


def _run(command: tuple[str, ...], folder: Path) -> str:
    """What it says on stdout. Installers use this user's cache and ask nothing."""
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
        hint = "does the registry have that version, and is it within reach?"
        raise HostError(f"`{' '.join(command[:4])} ...` failed: {said}", hint)
    return done.stdout.strip()
