from __future__ import annotations

import tomllib

import pytest

from pytest_agentgrade.assignment.toml_lines import line_of

TEXT = """# context = 1
context = 2
sampling = { temperature = 1.0 }
server_args = [
  "-ngl", "99",
  "[modes.mtp]",
]
modes.q4.model = "q"

[ modes . "mtp" ]  # built in
speculates = true
'server_args' = []

[other]
context = 3
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("context", 2),
        ("sampling temperature", 3),
        ("server_args 1", 4),
        ("modes q4 model", 8),
        ("modes mtp", 10),
        ("modes mtp speculates", 11),
        ("modes mtp server_args", 12),
        ("modes mtp lossless", 10),
        ("other context", 15),
        ("nothing", None),
    ],
)
def test_a_key_is_found_where_it_stands(path: str, line: int | None) -> None:
    assert tomllib.loads(TEXT), "it is TOML"
    assert line_of(TEXT, path.split()) == line
