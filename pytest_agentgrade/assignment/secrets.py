"""Values that are somebody's key: the server and the agent get them, records and people never see them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_agentgrade.errors import SettingsError

HIDDEN = "(hidden)"
"""What stands in place of a key, in records and on the screen."""
_WORDS = "key|token|password|passwd|secret"
_FLAG = re.compile(rf"(?P<flag>--?(?:[\w-]*[-_])?(?:{_WORDS})|-hft)(?P<value>=.*)?", re.IGNORECASE | re.DOTALL)
"""``--api-key``, ``--hf-token``, ``-hft``; not ``--api-key-file``, which names a place."""
_VARIABLE = re.compile(rf"(?:.*_)?(?:{_WORDS})", re.IGNORECASE | re.DOTALL)
_WORD_LISTS = ("server_args", "agent_command")
"""Settings that are words of a command line."""
SHORTEST = 4
"""Shorter texts are no keys, and stand in every log."""


def without_secrets(args: Iterable[str]) -> list[str]:
    """Words of a command line with their keys hidden; done twice it is the same as once."""
    shown, hide = [], False
    for word in args:
        match = None if hide else _FLAG.fullmatch(word)
        shown.append(HIDDEN if hide else f"{match['flag']}={HIDDEN}" if match and match["value"] else word)
        hide = match is not None and not match["value"]
    return shown


def secret_values(args: Sequence[str]) -> tuple[str, ...]:
    """The keys among the words of a command line, those behind commas one by one too; longest first."""
    found = {word.removeprefix(f"{_name(word)}=") for word, shown in zip(args, without_secrets(args), strict=True)
             if word != shown}  # fmt: skip
    parts = {part for value in found for part in (value, *value.split(","))}
    return tuple(sorted((part for part in parts if len(part) >= SHORTEST), key=len, reverse=True))


def secrets_of_settings(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """All keys that settings hold as plain values, those of their modes among them; longest first."""
    environment = settings.get("agent_env") or {}
    tables = (settings, *(settings.get("modes") or {}).values())
    words = [list(map(str, table.get(name) or ())) for table in tables for name in _WORD_LISTS]
    found = {value for given in words for value in secret_values(given)} | set(secret_variables(environment))
    return tuple(sorted(found, key=len, reverse=True))


def secret_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The keys among the values of environment variables; longest first."""
    found = {text for name, text in environment.items() if is_secret_variable(name) and len(text) >= SHORTEST}
    return tuple(sorted(found, key=len, reverse=True))


def hide(text: str, secrets: Iterable[str]) -> str:
    """``text`` without these keys; give those first that others are part of."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def hide_in_bytes(data: bytes, secrets: Iterable[str]) -> bytes:
    """The same for what is not known to be text."""
    for secret in secrets:
        data = data.replace(secret.encode(), HIDDEN.encode())
    return data


def is_secret_variable(name: str) -> bool:
    """Whether the value of an environment variable of this name is a key to something."""
    return _VARIABLE.fullmatch(name) is not None


def hidden_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as plain values, with every key hidden: what is stored and shown."""
    return {name: _hidden(name, value) for name, value in settings.items()}


def with_secrets(recorded: Mapping[str, Any], file: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Recorded settings with the keys that ``file`` has, where the two are the same but for these.

    SettingsError when ``recorded`` hides a key that ``file`` does not have.
    """
    found = dict(recorded)
    for name, value in recorded.items():
        if name == "modes" and isinstance(value, Mapping):
            tables = file.get("modes")
            own = tables if isinstance(tables, Mapping) else {}
            found[name] = {
                mode: with_secrets(table, own.get(mode, {}), f"{where}: modes.{mode}") for mode, table in value.items()
            }
        elif _hides(value):
            given = file.get(name)
            if given is None or _hidden(name, given) != value:
                what = f"{where}: {name} held a key, which is never stored"
                raise SettingsError(what, f"resume where agentgrade.toml has the same {name} with the key in it")
            found[name] = given
    return found


def _name(word: str) -> str:
    match = _FLAG.fullmatch(word)
    return match["flag"] if match and match["value"] else ""


def _hidden(name: str, value: Any) -> Any:
    if name in _WORD_LISTS and isinstance(value, list | tuple):
        return without_secrets(map(str, value))
    if name == "agent_env" and isinstance(value, Mapping):
        return {variable: HIDDEN if is_secret_variable(variable) else text for variable, text in value.items()}
    if name == "server" and isinstance(value, str):
        return re.sub(r"//[^/@]*@", f"//{HIDDEN}@", value)
    if name == "modes" and isinstance(value, Mapping):
        return {mode: hidden_settings(table) if isinstance(table, Mapping) else table for mode, table in value.items()}
    return value


def _hides(value: Any) -> bool:
    values = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(isinstance(one, str) and (one == HIDDEN or one.endswith(f"={HIDDEN}")) for one in values)
