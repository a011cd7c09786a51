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
    "greater_than_equal": "write {ge} or more",
    "greater_than": "write more than {gt}",
    "less_than_equal": "write {le} or less",
    "less_than": "write less than {lt}",
    "literal_error": "write {expected}",
    "too_short": "write at least one value",
}
"""Pydantic's kind of error -> what to do; ``ctx`` of the error fills the places."""


def wanted(kind: str, context: Mapping[str, Any], example: str = "") -> str:
    """A remedy, or nothing where only pydantic's own words say it; ``example`` reads like ``, such as 4096``."""
    return _BY_KIND.get(kind, "").format_map({**context, "example": example})
