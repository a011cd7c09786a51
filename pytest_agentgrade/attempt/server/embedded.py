"""The embedded server: ``python -m pytest_agentgrade.attempt.server.embedded FLAGS...`` (llama-server's flags).

Serves until SIGTERM or SIGINT. Exit code 2: a flag it does not know; 3: ``xllamacpp`` is missing; 1: did not come up.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

from pytest_agentgrade.attempt.server import embedded_flags
from pytest_agentgrade.errors import SettingsError

_STOPPING = (signal.SIGTERM, signal.SIGINT)


def main(args: Sequence[str]) -> int:
    """Serve until told to stop; returns the exit code."""
    # Before the library starts its threads: they inherit the mask, so that only sigwait() below sees the signals.
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        import xllamacpp
    except ImportError as error:
        return _fail(f"xllamacpp cannot be imported: {error}", 3)
    params = xllamacpp.CommonParams()
    try:
        embedded_flags.apply(params, args, xllamacpp)
    except SettingsError as error:
        return _fail(str(error), 2)
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        return _fail(str(error), 1)
    signal.sigwait(_STOPPING)
    del server
    return 0


def _fail(sentence: str, code: int) -> int:
    print(f"embedded server: {sentence}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
