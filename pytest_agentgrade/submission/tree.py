"""Trees of files as values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class TreeFile:
    """One regular file."""

    data: bytes
    executable: bool = False

    @property
    def mode(self) -> int:
        """Permission bits: 0o755 or 0o644, nothing else exists here."""
        return 0o755 if self.executable else 0o644


@dataclass(frozen=True)
class Tree(Mapping[str, TreeFile]):
    """A canonical tree: relative POSIX path -> file. Folders exist only through their files."""

    files: Mapping[str, TreeFile] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "files", MappingProxyType(dict(sorted(self.files.items()))))

    def __getitem__(self, path: str) -> TreeFile:
        return self.files[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[type[Tree], tuple[dict[str, TreeFile]]]:
        return Tree, (dict(self.files),)

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) over path, mode and content of every file, in path order."""
        total = hashlib.sha256()
        for path, file in self.files.items():
            content = hashlib.sha256(file.data).hexdigest()
            total.update(f"{file.mode:o} {content} {path}\0".encode())
        return total.hexdigest()

    def with_files(self, changes: Mapping[str, TreeFile | None]) -> Tree:
        """A new tree with files replaced or added; ``None`` removes one that exists."""
        merged = {**self.files, **changes}
        return Tree({path: file for path, file in merged.items() if file is not None})

    def changed_paths(self, other: Tree) -> tuple[str, ...]:
        """Paths whose file differs between the two trees, sorted."""
        return tuple(sorted(path for path in {*self, *other} if self.get(path) != other.get(path)))


class Origin(Enum):
    """Where a submission comes from."""

    AGENT = "agent"
    PATCH = "patch"


@dataclass(frozen=True)
class Submission:
    """The tree to be judged, untrusted but canonical."""

    tree: Tree
    origin: Origin
    notes: tuple[str, ...] = ()
    """Sentences for the report about what was left out on the way in (bytecode, shared objects); escaped."""
