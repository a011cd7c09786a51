"""The sandbox image: built from this machine's own Python and tools, or one that the user names."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import docker
import requests
from docker.errors import DockerException, ImageNotFound

from pytest_agentgrade.errors import HostError, SettingsError
from pytest_agentgrade.sandbox import recipe
from pytest_agentgrade.sandbox.derive import PYTHON_LABEL, Use, derive, find_prepared, promote
from pytest_agentgrade.sandbox.locks import locks_folder
from pytest_agentgrade.sandbox.recipe import Part, Recipe
from pytest_agentgrade.sandbox.temporary import temporary_folder
from pytest_agentgrade.waiting import Waiting, held

REPOSITORY = "agentgrade-sandbox"
Log = Callable[[str], None]
_HINTS = {
    Use.SANDBOX: "give an image with python3, sh, tar, chmod and find on its PATH, e.g. python:3.12-slim",
    Use.AGENT: "an agent's image needs python3 (3.8 or newer) on its PATH, for the way to the model, beside the agent",
}
_LOCK_SECONDS = 600.0
_EPOCH = 1_577_836_800
"""2020-01-01: the time stamp of every file in the image."""


@dataclass(frozen=True)
class Image:
    """An image that is on the engine and was seen to work."""

    tag: str
    """What to name in a :class:`ContainerSpec`."""
    id: str
    """``sha256:...``, for records."""
    python: str
    """Version of its ``python3``, such as ``3.11.7``."""


def ensure_image(
    client: docker.DockerClient, reference: str | None = None, *, log: Log = print, use: Use = Use.SANDBOX
) -> Image:
    """The image to run agents and candidates in, made if it is not there yet; nothing is pulled.

    ``reference`` is an image the user gave, with what its ``use`` needs in it (``python3``; a sandbox ``sh``, ``tar``,
    ``chmod`` and ``find`` as well); a copy with bytecode compiled in is made of it once. Without one, an image named
    after its content is built from this machine, in about 5 s. Raises HostError, SettingsError for a bad ``reference``.
    """
    if reference is not None:
        return _given_image(client, reference, log, use)
    drawn = recipe.draw_up()
    tag = f"{REPOSITORY}:{drawn.digest()[:16]}"
    found = _find(client, tag)
    if found is not None:
        return found
    with _lock(log):
        found = _find(client, tag)  # another process may have built it in the meantime
        return found or _build(client, drawn, tag, log)


@contextmanager
def _lock(log: Log) -> Iterator[None]:
    """Held while an image is made."""
    hint = "see what it waits for, or end it"
    with held(locks_folder() / "image.lock", "makes an image", Waiting(log), timeout=_LOCK_SECONDS, hint=hint):
        yield


def image_tag() -> str:
    """The name of the image that :func:`ensure_image` makes from this machine."""
    return f"{REPOSITORY}:{recipe.draw_up().digest()[:16]}"


def _find(client: docker.DockerClient, tag: str) -> Image | None:
    found = find_prepared(client, tag)
    return None if found is None else Image(tag, *found)


def _given_image(client: docker.DockerClient, reference: str, log: Log, use: Use) -> Image:
    api: Any = client.api
    try:
        details = api.inspect_image(reference)
    except ImageNotFound as error:
        remedy = f"run `agentgrade setup` or `docker pull {reference}`, or leave the setting out to have one made here"
        raise SettingsError(f"image {reference!r} is not on this engine, and a run pulls none", remedy) from error
    except DockerException as error:
        raise HostError(f"cannot look for image {reference!r}: {error}") from error
    if PYTHON_LABEL in (details["Config"].get("Labels") or {}):
        return Image(reference, details["Id"], details["Config"]["Labels"][PYTHON_LABEL])
    name = f"{'from' if use is Use.SANDBOX else 'agent-from'}-{details['Id'].removeprefix('sha256:')[:16]}"
    tag = f"{REPOSITORY}:{name}"
    with _lock(log):
        found = _find(client, tag)
        if found is not None:
            return found
        log(f"preparing {reference} as {tag}")
        try:
            derive(client, details["Id"], REPOSITORY, name, use=use)
        except HostError as error:
            raise SettingsError(f"image {reference!r} cannot be used: {error.message}", _HINTS[use]) from error
    prepared = _find(client, tag)
    if prepared is None:
        raise HostError(f"image {tag} vanished while it was made", "run it again")
    return prepared


def _build(client: docker.DockerClient, drawn: Recipe, tag: str, log: Log) -> Image:
    started = time.monotonic()
    name = tag.split(":")[1]
    python = "{}.{}.{}".format(*sys.version_info)
    log(f"building the sandbox image {tag} from Python {python} and this machine's tools")
    api: Any = client.api
    with _packed(drawn) as archive:
        size = archive.stat().st_size
        changes = [*recipe.CHANGES, f"LABEL {PYTHON_LABEL}={python}"]
        try:
            api.import_image_from_file(str(archive), repository=REPOSITORY, tag=f"{name}-new", changes=changes)
            made = api.inspect_image(f"{tag}-new")["Id"]
        except (DockerException, requests.RequestException) as error:
            raise HostError(f"the engine cannot import the sandbox image: {error}", "is its disk full?") from error
    # The final name is given only to an image that was seen to work.
    seen = promote(client, made, REPOSITORY, name, git=True)
    log(f"sandbox image ready: {size / 1e6:.0f} MB, {time.monotonic() - started:.0f} s")
    return Image(tag, made, seen)


@contextmanager
def _packed(drawn: Recipe) -> Iterator[Path]:
    """The image as a tar file in a temporary folder."""
    with temporary_folder() as folder:
        archive = folder / "image.tar"
        with tarfile.open(archive, "w", format=tarfile.GNU_FORMAT) as tar:
            for name, mode in recipe.FOLDERS.items():
                _add_folder(tar, name, mode)
            for name, text in recipe.FILES.items():
                _add_file(tar, name, text.encode(), 0o644)
            for link, to in (*recipe.LINKS.items(), *((str(where), to) for where, to in drawn.links)):
                _add_link(tar, link, to)
            for part in (*drawn.parts, *recipe.shared_libraries(drawn.parts)):
                mode = 0o755 if os.access(part.source, os.X_OK) else 0o644
                _add_file(tar, str(part.target), part.source.read_bytes(), mode)
            for target, data in _bytecode(drawn.parts, folder):
                _add_file(tar, str(target), data, 0o644)
        yield archive


def _bytecode(parts: tuple[Part, ...], folder: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Compiled modules. A read-only container would compile the standard library anew in every start.

    "Unchecked": Python takes them as they are, without a look at the source's time stamp.
    """
    staged = folder / "stdlib"
    for part in parts:
        if part.target.suffix == ".py":
            copy = staged / part.target.relative_to("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(part.source.read_bytes())
    program = (
        "import compileall, py_compile, sys; "
        "compileall.compile_dir(sys.argv[1], quiet=2, workers=2, stripdir=sys.argv[1], prependdir='/', "
        "invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)"
    )
    subprocess.run([sys.executable, "-I", "-c", program, str(staged)], check=True)
    for compiled in sorted(staged.rglob("*.pyc")):
        yield PurePosixPath("/", compiled.relative_to(staged)), compiled.read_bytes()


def _member(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name.lstrip("/"))
    member.type, member.mode, member.mtime = kind, mode, _EPOCH
    return member


def _add_folder(tar: tarfile.TarFile, name: str, mode: int) -> None:
    member = _member(name, tarfile.DIRTYPE, mode)
    if name in ("/work", "/scratch"):
        member.uid = member.gid = 65532
    tar.addfile(member)


def _add_link(tar: tarfile.TarFile, name: str, to: str) -> None:
    member = _member(name, tarfile.SYMTYPE, 0o777)
    member.linkname = to
    tar.addfile(member)


def _add_file(tar: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    member = _member(name, tarfile.REGTYPE, mode)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))
