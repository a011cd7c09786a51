"""A llama-server binary, played by a script that has its ``--help`` and ``--version`` and serves with xllamacpp."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path

import pytest

from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.attempt.server import ServerKind
from pytest_agentgrade.errors import HostError, SettingsError
from tests.attempt.server.conftest import DEMO, MTP, Launcher, chat

SCRIPT = """#!{python}
import sys
if sys.argv[1:] == ["--version"]:
    sys.exit("0.00.004.084 I srv llama_server: initializing\\nversion: 11149 (abc)\\nbuilt with a compiler")
if sys.argv[1:] == ["--help"]:
    print('''{help}''')
elif "--crash" in sys.argv:
    sys.exit("no GPU here")
else:
    from pytest_agentgrade.attempt.server import embedded
    sys.exit(embedded.main(sys.argv[1:]))
"""
HELP = """
-m,    --model FNAME                    model path
--host HOST                             ip address
--port PORT                             port
-c,    --ctx-size N                     size
-t,    --threads N                      threads
-np,   --parallel N                     slots
--metrics                               counters
--slots, --no-slots                     slots page
--spec-type TYPES                       kinds
--spec-draft-n-max, --draft-max N       drafts
--crash                                 for a test
"""


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    path = tmp_path / "llama-server"
    path.write_text(SCRIPT.format(python=sys.executable, help=HELP))
    path.chmod(0o755)
    return path


def test_a_binary_gets_the_flags_it_knows(binary: Path, launched: Launcher) -> None:
    with launched(MTP, dataclasses.replace(DEMO, server=str(binary))) as server:
        assert server.info.kind is ServerKind.BINARY
        assert server.info.build == "version: 11149 (abc) built with a compiler"
        assert server.info.argv[0] == str(binary)
        assert "--metrics" in server.info.argv and "--no-cache-prompt" not in server.info.argv
        assert "--no-cache-prompt" in server.info.omitted and "--cache-ram 0" in server.info.omitted
        assert chat(server)["timings"]["draft_n"] > 0


def test_a_binary_is_found_on_the_path(binary: Path, launched: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{binary.parent}:{os.environ['PATH']}")
    with launched(MTP, dataclasses.replace(DEMO, server="llama-server")) as server:
        assert server.info.argv[0] == str(binary)


def test_a_flag_of_the_mode_that_the_binary_does_not_know_is_refused(binary: Path, launched: Launcher) -> None:
    mode = Mode("mtp", ("--spec-draft-n-mx", "3"), server=str(binary))
    with pytest.raises(SettingsError) as caught, launched(mode):
        pass
    assert "llama-server does not know the flag --spec-draft-n-mx - did you mean --spec-draft-n-max?" in str(
        caught.value
    )


def test_a_crash_while_starting_shows_what_it_said(binary: Path, launched: Launcher) -> None:
    with pytest.raises(HostError) as caught, launched(Mode("bad", ("--crash",), server=str(binary))):
        pass
    assert "no GPU here" in str(caught.value) and "exit code 1" in str(caught.value)
