"""Trees as tar files of our own writing."""

from __future__ import annotations

import io
import tarfile

from pytest_agentgrade.submission.tree import Tree, TreeFile


def write_tree(tree: Tree) -> bytes:
    """A plain tar with fixed owner and time: the same tree, the same bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, file in tree.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(file.data), file.mode
            archive.addfile(member, io.BytesIO(file.data))
    return buffer.getvalue()


def read_tree(data: bytes) -> Tree:
    """Inverse of :func:`write_tree`; ValueError when ``data`` is anything else."""
    files: dict[str, TreeFile] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isreg() else None
                if content is None:
                    raise ValueError(f"{member.name!r} is not a regular file")
                files[member.name] = TreeFile(content.read(), executable=bool(member.mode & 0o100))
    except tarfile.TarError as error:
        raise ValueError(f"not a stored tree: {error}") from error
    return Tree(files)
