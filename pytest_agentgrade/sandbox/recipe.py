"""What goes into the sandbox image: the Python that runs us and the common tools, taken from this machine.

No registry is asked: a list of files is drawn up, and :mod:`pytest_agentgrade.sandbox.image` packs it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pytest_agentgrade.errors import HostError

RECIPE = 1
"""Raise this number whenever the way of building changes: it is part of the image's name."""
PYTHON_PREFIX = PurePosixPath("/usr/local")
REQUIRED_TOOLS = ("sh", "git", "grep", "find", "sed", "tar", "diff", "sleep", "cat", "ls", "rm", "env")
_OPTIONAL_TOOL_NAMES = """
    bash dash awk xargs patch cmp gzip gunzip zcat which egrep fgrep ps kill [ base64 basename chmod comm cp cut
    date dd df dirname du echo expand expr false fmt fold head id install join ln md5sum mkdir mkfifo mktemp mv nl nproc
    od paste printenv printf pwd readlink realpath rmdir seq sha1sum sha256sum shuf sort split stat stty sum sync tac
    tail tee test timeout touch tr true truncate tsort uname uniq unlink wc whoami yes
"""
_LEFT_OUT_FOLDERS = frozenset(
    {"__pycache__", "test", "tests", "idlelib", "ensurepip", "site-packages", "dist-packages", "tkinter", "turtledemo"}
    | {"lib2to3", "pydoc_data"}
)
_LEFT_OUT_FILES = re.compile(r"(_test\w*|_xx\w+|xx\w+|_tkinter|_ctypes_test)\..*so|sitecustomize\.py|.*\.(a|o|pyc)")
CHANGES = (
    "ENV PATH=/usr/local/bin:/usr/bin",
    "ENV LANG=C.UTF-8",
    "ENV GIT_PAGER=cat",
    "USER 65532:65532",
    "WORKDIR /work",
    'CMD ["python3"]',
)
FILES = {
    "/etc/passwd": "root:x:0:0:root:/:/bin/sh\nagent:x:65532:65532:agent:/tmp:/bin/sh\n",
    "/etc/group": "root:x:0:\nagent:x:65532:\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "/etc/gitconfig": (
        "[user]\n\tname = agent\n\temail = agent@sandbox.invalid\n"
        "[core]\n\tpager = cat\n[gc]\n\tauto = 0\n[init]\n\tdefaultBranch = main\n"
    ),
}
FOLDERS = {
    "/tmp": 0o1777, "/work": 0o755, "/scratch": 0o755, "/proc": 0o555, "/sys": 0o555, "/dev": 0o755,
    "/usr/share/git-core/templates": 0o755,
}  # fmt: skip
LINKS = {"/bin": "usr/bin", "/sbin": "usr/sbin", "/lib": "usr/lib", "/lib64": "usr/lib64"}
_EXTRA_LIBRARIES = ("libgcc_s.so.1", "libnss_files.so.2")
"""Loaded by name at run time, so that no list of dependencies shows them."""
_TOOL_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
_MERGED = frozenset({"bin", "sbin", "lib", "lib32", "lib64", "libx32"})
_LDD_LINE = re.compile(r"\s*(?:(?P<name>\S+) => )?(?P<path>/\S+) \(0x[0-9a-f]+\)")


@dataclass(frozen=True)
class Part:
    """One file of the image."""

    target: PurePosixPath
    source: Path


@dataclass(frozen=True)
class Recipe:
    """Files and links of the image, without the shared libraries that they need."""

    parts: tuple[Part, ...]
    links: tuple[tuple[PurePosixPath, str], ...]
    """Symbolic links: where, and to what."""

    def digest(self) -> str:
        """SHA-256 (hex) over recipe, Python version, architecture, and name and content of every file and link."""
        total = hashlib.sha256(f"{RECIPE} {sys.version} {platform.machine()}\n".encode())
        total.update(repr((CHANGES, FILES, FOLDERS, LINKS)).encode())
        for part in self.parts:
            total.update(f"{part.target} {hashlib.sha256(part.source.read_bytes()).hexdigest()}\n".encode())
        for where, to in self.links:
            total.update(f"{where} -> {to}\n".encode())
        return total.hexdigest()


def draw_up() -> Recipe:
    """List everything for this machine. Raises HostError when a required tool is missing."""
    tools, links = _tools()
    parts = {*_python_parts(), *tools, *_git_scripts(), *_locale_parts()}
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    links += [(PYTHON_PREFIX / "bin" / name, version) for name in ("python3", "python")]
    return Recipe(tuple(sorted(parts, key=lambda part: part.target)), tuple(sorted(links)))


def shared_libraries(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The loader and every library that ``parts`` are linked with.

    All libraries go where the C library lies: the loader searches there without configuration, whatever run paths
    the files were built with.
    """
    binaries = [part.source for part in parts if _is_elf(part.source)]
    found = _linked(binaries)
    home = image_path(found["libc.so.6"]).parent
    for name in _EXTRA_LIBRARIES:
        source = Path(found["libc.so.6"]).parent / name
        if source.exists():
            found.setdefault(name, str(source))
    loaders = {path for name, path in found.items() if name == path}
    libraries = {Part(home / name, Path(path)) for name, path in found.items() if name != path}
    return tuple({*libraries, *(Part(image_path(path), Path(path)) for path in loaders)})


def image_path(path: str | Path) -> PurePosixPath:
    """Where a system path lies in the image, which has ``/bin``, ``/lib`` and the like merged into ``/usr``."""
    parts = PurePosixPath(os.path.normpath(path)).parts[1:]
    return PurePosixPath("/usr", *parts) if parts[0] in _MERGED else PurePosixPath("/", *parts)


def _python_parts() -> set[Part]:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    prefix = Path(sys.base_prefix)
    executable = Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()
    stdlib = Path(os.__file__).parent
    home = PYTHON_PREFIX / (stdlib.relative_to(prefix) if stdlib.is_relative_to(prefix) else Path("lib", version))
    parts = {Part(PYTHON_PREFIX / "bin" / version, executable)}
    for folder, folders, names in os.walk(stdlib):
        folders[:] = sorted(name for name in folders if not _is_left_out(name))
        for name in names:
            source = Path(folder, name)
            if source.is_file() and not _LEFT_OUT_FILES.fullmatch(name):
                parts.add(Part(home / source.relative_to(stdlib), source))
    return parts


def _is_left_out(folder: str) -> bool:
    return folder in _LEFT_OUT_FOLDERS or folder.startswith("config-")


def _tools() -> tuple[set[Part], list[tuple[PurePosixPath, str]]]:
    """Tools and the links among them: names of one file (``sh``, multi-call binaries) share one copy."""
    home = PurePosixPath("/usr/bin")
    placed: dict[tuple[int, int], str] = {}
    parts: set[Part] = set()
    links: list[tuple[PurePosixPath, str]] = []
    for name in (*REQUIRED_TOOLS, *_OPTIONAL_TOOL_NAMES.split()):
        found = shutil.which(name, path=_TOOL_PATH) or shutil.which(name)
        if found is None or not _can_run(Path(found)):
            if name in REQUIRED_TOOLS:
                raise HostError(f"{name!r} is not installed on this machine", f"install {name}, e.g. with apt-get")
            continue
        status = Path(found).stat()
        key = (status.st_dev, status.st_ino)
        if key in placed:
            links.append((home / name, placed[key]))
        else:
            placed[key] = name
            parts.add(Part(home / name, Path(found).resolve()))
    return parts, links


def _can_run(path: Path) -> bool:
    """Whether the image can run it: a binary, or a script of the shell."""
    return _is_elf(path) or path.read_bytes()[:32].startswith((b"#!/bin/sh", b"#! /bin/sh", b"#!/usr/bin/sh"))


def _git_scripts() -> set[Part]:
    """git's shell parts; all else that is needed lives in the one binary."""
    folder = Path(subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip())
    scripts = (path for path in sorted(folder.iterdir()) if path.is_file() and not path.is_symlink())
    return {Part(image_path(path), path) for path in scripts if not _is_elf(path) and _can_run(path)}


def _locale_parts() -> set[Part]:
    """``C.UTF-8``, where it is not built into the C library."""
    folders = (Path("/usr/lib/locale", name) for name in ("C.utf8", "C.UTF-8"))
    files = (path for folder in folders if folder.is_dir() for path in folder.rglob("*") if path.is_file())
    return {Part(PurePosixPath(path), path) for path in files}


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _linked(binaries: list[Path]) -> dict[str, str]:
    """Library name -> path on this machine; the loader appears under its own path."""
    # ldd's exit code is 1 for a static file among the others, so its output alone counts.
    done = subprocess.run(["ldd", *map(str, binaries)], capture_output=True, text=True, check=False)
    found: dict[str, str] = {}
    for line in done.stdout.splitlines():
        match = _LDD_LINE.fullmatch(line)
        if match:
            found.setdefault(match["name"] or match["path"], match["path"])
    if "libc.so.6" not in found:
        raise HostError(
            f"cannot list the shared libraries of {sys.executable}: {done.stderr.strip()[:200]}",
            "a Linux with glibc and ldd is needed to build the image; or give an image, e.g. python:3.12-slim",
        )
    return found
