"""The API key that a server asks for: from its own flags, or from the environment for one that runs already."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

from pytest_agentgrade.assignment.secrets import SHORTEST
from pytest_agentgrade.errors import SettingsError

VARIABLE = "AGENTGRADE_API_KEY"
"""Environment variable with the key of a server that runs already: settings are stored and shown, this is not."""
_OF_LLAMA_SERVER = "LLAMA_API_KEY"


def key_of_flags(argv: Sequence[str]) -> str:
    """A key that a launched server accepts: of ``--api-key``, ``--api-key-file`` or ``LLAMA_API_KEY``, or nothing."""
    given = dict(pairwise(argv))
    if "--api-key" in given:
        return _first(given["--api-key"], ",")
    if "--api-key-file" in given:
        return _first(_read(given["--api-key-file"]), "\n")
    return _first(os.environ.get(_OF_LLAMA_SERVER, ""), ",")


def key_of_url(server: str) -> str:
    """The key for a server that runs already, from the environment, or nothing.

    SettingsError for a URL with a password in it: URLs are stored and shown.
    """
    parts = urlsplit(server)
    if parts.username is not None or parts.password is not None:
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        raise SettingsError(
            f"the server's URL holds a user or password ({place})",
            f"write it without; an API key goes into the environment variable {VARIABLE}",
        )
    return os.environ.get(VARIABLE, "")


def known_keys(words: Iterable[Sequence[str]]) -> set[str]:
    """All keys there are for servers with these flags, or for one that runs already; none of a file that is not there.

    Texts so short that they stand in every log are left out.
    """
    found = {os.environ.get(VARIABLE, ""), *os.environ.get(_OF_LLAMA_SERVER, "").split(",")}
    for argv in words:
        with suppress(SettingsError):
            found.add(key_of_flags(argv))
    return {key for key in found if len(key) >= SHORTEST}


def _first(text: str, separator: str) -> str:
    return next((part.strip() for part in text.split(separator) if part.strip()), "")


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read --api-key-file {file}: {error}", "name a file with one key a line") from error
