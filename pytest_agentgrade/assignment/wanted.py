"""What to write in place of a value that cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_BY_KIND = {
    "int_type": "write a whole number{example}",
    "int_from_float": "write a whole number{example}",
    "float_type": "write a number{example}",
    "finite_number": "write a finite number{example}",
    "string_type": "write a text, 'in quotes'",
    "bool_type": "write true or false",
    "list_type": "write a list, [in, brackets]",
    "dict_type": "write a table: {{ name = value }}, or its own [section]",
    "model_type": "write a table: {{ name = value }}, or its own [section]",
    "invalid_key": "write names in place of numbers",
    "string_pattern_mismatch": "write {letters}",
    "greater_than_equal": "write {ge} or more",
    "greater_than": "write more than {gt}",
    "less_than_equal": "write {le} or less",
    "less_than": "write less than {lt}",
    "literal_error": "write {expected}",
    "too_short": "write at least one value",
}
"""Pydantic's kind of error -> what to do; ``ctx`` of the error fills the places."""


_LETTERS = {"agent_version": "a version that begins with a digit, such as 1.2.3"}
_OF_NAMES = "a name of letters, digits, '.', '_' and '-'"


def wanted(kind: str, context: Mapping[str, Any], name: str, example: str = "") -> str:
    """A remedy for the setting ``name``; ``example`` reads like ``, such as 4096``."""
    words = {**context, "example": example, "letters": _LETTERS.get(name, _OF_NAMES)}
    return _BY_KIND.get(kind, "write a value like the one that `agentgrade doctor` shows").format_map(words)
