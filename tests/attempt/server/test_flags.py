from __future__ import annotations

import pytest

from pytest_agentgrade.attempt.server import flags
from pytest_agentgrade.errors import SettingsError

HELP = """\
----- common params -----

-h,    --help, --usage                  print usage and exit
-t,    --threads N                      number of CPU threads to use during generation (default: -1)
                                        (env: LLAMA_ARG_THREADS)
-m,    --model FNAME                    model path to load
--port PORT                             port to listen
-fa,   --flash-attn [on|off|auto]       set Flash Attention use ('--not-a-flag' in a text)
-kvu,  --kv-unified, -no-kvu, --no-kv-unified
                                        use single unified KV buffer
--metrics                               enable prometheus compatible metrics endpoint
--spec-type none,draft-mtp,ngram-mod    comma-separated list of types
                                        --spec-fake is no flag here
"""


def test_flags_are_read_from_the_beginnings_of_the_lines_of_a_help_text() -> None:
    assert flags.flags_of_help(HELP) == {
        *("-h", "--help", "--usage", "-t", "--threads", "-m", "--model", "--port", "-fa", "--flash-attn"),
        *("-kvu", "--kv-unified", "-no-kvu", "--no-kv-unified", "--metrics", "--spec-type"),
    }


def test_what_is_unknown_of_the_flags_for_repeatability_is_left_out_and_told() -> None:
    kept, omitted = flags.repeatability_args(frozenset({"-np", "--metrics", "--cache-ram"}))
    assert kept == ("-np", "1", "--cache-ram", "0", "--metrics")
    assert "--ctx-checkpoints 0" in omitted and "--no-cache-prompt" in omitted
    assert not {"--metrics", "-np 1"} & set(omitted)


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["--spec-typ", "draft-mtp"], "--spec-typ - did you mean --spec-type?"),
        (["--spec-type=draft-mtp"], "write it as two words: '--spec-type'"),
        (["-t", "-1", "--zzzzzzzz"], "--zzzzzzzz"),
        (["--port", "80"], "--port is set by pytest-agentgrade itself"),
        (["-m", "x.gguf"], "use the setting 'model'"),
    ],
)
def test_a_flag_that_cannot_be_is_refused_by_name(args: list[str], named: str) -> None:
    with pytest.raises(SettingsError) as caught:
        flags.refuse_unknown(args, flags.flags_of_help(HELP), "/bin/x")
    assert named in str(caught.value)


def test_known_flags_and_negative_values_pass() -> None:
    flags.refuse_unknown(["-t", "-1", "-fa", "on", "--spec-type", "none"], flags.flags_of_help(HELP), "/bin/x")
