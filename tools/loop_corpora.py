"""Ordinary texts for the loop detector: code, prose, and texts that weigh and explain as reasoning does.

All come from packages of this machine, are chosen with a fixed seed and named by package and version. What is not
installed is left out and so missing from the list.
"""

from __future__ import annotations

import ast
import gzip
import io
import random
import re
import subprocess
import sys
import sysconfig
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from pytest_agentgrade.attempt.loops import split_tokens

SEED = 20261002
LEAST_TOKENS, MOST_TOKENS = 512, 8192
"""A text has as many tokens as a response may have: longer ones are cut, shorter ones left out."""
_MOST_CHARACTERS = 60_000


class Text(NamedTuple):
    """One ordinary text."""

    kind: str
    """``code``, ``prose`` or ``reasoning``."""
    package: str
    name: str
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class Corpus:
    """Files of one package and how to read them."""

    kind: str
    package: str
    files: tuple[Path, ...]
    read: Callable[[Path], str]
    most: int


def ordinary_texts(share: float = 1.0, seed: int = SEED) -> Iterator[Text]:
    """All texts, or a share of each corpus; another seed chooses other ones."""
    for corpus in (*_python_corpora(), *_debian_corpora()):
        files = sorted(corpus.files)
        random.Random(f"{seed} {corpus.package} {corpus.kind}").shuffle(files)
        yield from _texts(corpus, files, max(1, round(share * corpus.most)))


def _texts(corpus: Corpus, files: Iterable[Path], most: int) -> Iterator[Text]:
    found = 0
    for path in files:
        if found == most:
            return
        if path.stat().st_size < LEAST_TOKENS:
            continue
        tokens = split_tokens(corpus.read(path)[:_MOST_CHARACTERS])[:MOST_TOKENS]
        if len(tokens) >= LEAST_TOKENS:
            found += 1
            yield Text(corpus.kind, corpus.package, path.name, tuple(tokens))


def _python_corpora() -> Iterator[Corpus]:
    library = Path(sysconfig.get_paths()["stdlib"])
    skipped = {"site-packages", "lib2to3", "idlelib"}
    sources = tuple(path for path in library.rglob("*.py") if skipped.isdisjoint(path.parts))
    name = "Python {}.{}.{} standard library".format(*sys.version_info[:3])
    yield from _source_corpora(name, sources, (250, 90, 90))
    for package, most in (("numpy", 40), ("scipy", 40), ("mypy", 30), ("pydantic", 20), ("setuptools", 30)):
        if (found := _distribution(package)) is not None:
            yield from _source_corpora(*found, (most, most // 2, most // 2))
    descriptions = {f"{one.name} {one.version}": one for one in metadata.distributions() if one.files}
    paths = [path for one in descriptions.values() for path in one.files or () if path.name == "METADATA"]
    yield Corpus("reasoning", "descriptions in Python packages' METADATA", _existing(paths), _read, 60)


def _source_corpora(name: str, sources: tuple[Path, ...], most: tuple[int, int, int]) -> Iterator[Corpus]:
    yield Corpus("code", name, sources, _read, most[0])
    yield Corpus("prose", f"{name}, docstrings", sources, _docstrings, most[1])
    yield Corpus("reasoning", f"{name}, comments", sources, _comments, most[2])


def _distribution(name: str) -> tuple[str, tuple[Path, ...]] | None:
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    return f"{name} {found.version}", _existing(path for path in found.files or () if path.suffix == ".py")


def _existing(paths: Iterable[metadata.PackagePath]) -> tuple[Path, ...]:
    located = (Path(str(path.locate())) for path in paths)
    return tuple(path for path in located if path.is_file())


_DEBIAN = (
    ("code", "libc6-dev", r"/include/.*\.h$", 60),
    ("code", "libstdc++-12-dev", r"/include/", 60),
    ("code", "linux-libc-dev", r"/include/.*\.h$", 60),
    ("code", "perl-modules-5.36", r"\.p[ml]$", 60),
    ("prose", "manpages", r"\.gz$", 60),
    ("prose", "manpages-dev", r"\.gz$", 80),
    ("prose", "git-man", r"\.gz$", 60),
    ("prose", "perl-modules-5.36", r"\.pod$", 60),
    ("prose", "cmake-data", r"\.rst$", 60),
    ("prose", "base-files", r"/common-licenses/", 12),
    ("reasoning", "nodejs", r"/(doc|contributing)/.*\.md$", 60),
)
_CHANGELOGS = re.compile(r"/doc/.*(changelog|news|readme)[^/]*\.gz$", re.IGNORECASE)


def _debian_corpora() -> Iterator[Corpus]:
    for kind, package, pattern, most in _DEBIAN:
        if version := _command("dpkg-query", "-W", "-f", "${Version}", package):
            files = _files_of(package, re.compile(pattern))
            yield Corpus(kind, f"{package} {version} (Debian)", files, _read_manual, most)
    changelogs = tuple(path for path in Path("/usr/share/doc").glob("*/*.gz") if _CHANGELOGS.search(str(path)))
    yield Corpus("reasoning", "changelogs, news and READMEs of Debian packages", changelogs, _read_manual, 120)


def _files_of(package: str, wanted: re.Pattern[str]) -> tuple[Path, ...]:
    paths = map(Path, _command("dpkg-query", "-L", package).splitlines())
    return tuple(path for path in paths if wanted.search(str(path)) and path.is_file() and not path.is_symlink())


def _command(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""  # not a Debian machine, or not installed: the corpus is missing from the list


def _read(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data)[: 4 * _MOST_CHARACTERS].decode("utf-8", "replace")


_ROFF_LINE = re.compile(r"^[.'].*$", re.MULTILINE)
_ROFF_MACRO = re.compile(r"^\.(B|I|BR|IR|RB|RI|BI|IB|SM) ", re.MULTILINE)
_ROFF_ESCAPE = re.compile(r"\\f[A-Z]|\\f\(..|\\-|\\&|\\[(*]..")


def _read_manual(path: Path) -> str:
    """Manual pages as their reader sees them, roughly: words without macros."""
    text = _read(path)
    if path.suffix != ".gz" or "/man/" not in str(path):
        return text
    return _ROFF_ESCAPE.sub("", _ROFF_LINE.sub("", _ROFF_MACRO.sub("", text)))


def _docstrings(path: Path) -> str:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return ""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, documented))
    return "\n\n".join(text for text in found if text)


def _comments(path: Path) -> str:
    try:
        tokens = list(tokenize.tokenize(io.BytesIO(path.read_bytes()).readline))
    except (SyntaxError, tokenize.TokenError, ValueError):
        return ""
    return "\n".join(token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT)
