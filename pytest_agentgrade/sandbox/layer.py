"""A new image made of one that is there and a folder of files."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Any

import docker
import requests
from docker.errors import DockerException

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.sandbox.recipe import Part, shared_libraries

_EPOCH = 1_577_836_800
"""2020-01-01: the time stamp of every file."""


def add_layer(client: docker.DockerClient, base_id: str, tag: str, root: Path, labels: Mapping[str, str]) -> str:
    """Build ``tag`` from image ``base_id`` with the files below ``root`` put over it; the new image's id.

    Everything belongs to root and can be read by all. The engine needs no network for it. Raises HostError.
    """
    lines = [f"FROM {base_id}", "ADD layer.tar /", *(f'LABEL {name}="{value}"' for name, value in labels.items())]
    api: Any = client.api
    try:
        with tempfile.TemporaryFile(prefix="agentgrade-layer-") as context:
            _write_context(context, "\n".join(lines).encode(), root)
            context.seek(0)
            said = list(
                api.build(fileobj=context, custom_context=True, tag=tag, rm=True, forcerm=True, decode=True,
                          network_mode="none")
            )  # fmt: skip
        if errors := [str(line["error"]) for line in said if "error" in line]:
            raise HostError(f"the engine cannot build {tag}: {errors[0].strip()}", "is its disk full?")
        return str(api.inspect_image(tag)["Id"])
    except (DockerException, requests.RequestException, OSError) as error:
        raise HostError(f"cannot build {tag}: {error}", "is a disk full?") from error


def needed_libraries(root: Path, binaries: Iterable[Path]) -> None:
    """Copy the shared libraries that ``binaries`` need to their places below ``root``."""
    parts = tuple(Part(PurePosixPath("/", binary.name), binary) for binary in binaries)
    for part in shared_libraries(parts):
        target = root / part.target.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(part.source.read_bytes())
        target.chmod(0o755)


def _write_context(context: IO[bytes], recipe: bytes, root: Path) -> None:
    with tempfile.TemporaryFile(prefix="agentgrade-layer-") as inner:
        with tarfile.open(fileobj=inner, mode="w", format=tarfile.GNU_FORMAT) as layer:
            for path in sorted(root.rglob("*")):
                layer.add(path, path.relative_to(root).as_posix(), recursive=False, filter=_plain)
        size = inner.tell()
        inner.seek(0)
        with tarfile.open(fileobj=context, mode="w", format=tarfile.GNU_FORMAT) as outer:
            _add(outer, "Dockerfile", len(recipe), io.BytesIO(recipe))
            _add(outer, "layer.tar", size, inner)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = _EPOCH
    runs = member.isdir() or member.mode & 0o111
    member.mode = 0o755 if runs else 0o644
    return member


def _add(tar: tarfile.TarFile, name: str, size: int, data: IO[bytes]) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime = size, _EPOCH
    tar.addfile(member, data)


def is_binary(path: Path) -> bool:
    """Whether it is an ELF file."""
    if not path.is_file() or path.is_symlink() or not os.access(path, os.R_OK):
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"
