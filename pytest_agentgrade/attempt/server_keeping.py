"""Which attempts share a server: none, or consecutive ones of the same mode."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.attempt.server import RunningServer, launch
from pytest_agentgrade.attempt.serving import server_config


class Served(NamedTuple):
    """A server that is ready for an attempt."""

    server: RunningServer
    served_before: int
    """Attempts it has served before this one."""


@dataclass
class _Kept:
    mode: Mode
    server: RunningServer
    stack: ExitStack
    attempts: int = 0


@dataclass
class Servers:
    """The servers of one process; close it to stop the one that is kept."""

    settings: Settings
    lock_dir: Path
    watch: Callable[[int], None] | None = None
    say: Callable[[str], None] = print
    """Shows a line to the user, when something is waited for."""
    _kept: _Kept | None = field(default=None, init=False)

    @contextmanager
    def serve(self, mode: Mode, log_path: Path) -> Generator[Served, None, None]:
        """A server in ``mode`` for one attempt: SettingsError or HostError when there is none.

        With ``server_restart = "mode"`` the server of the attempt before is used again if it is of this mode and
        still alive; one of another mode is stopped first, as a device has one server at a time. An attempt that ends
        with an error takes its server with it. A kept server writes to the ``log_path`` it was launched with.
        """
        kept = self._take(mode) or self._launch(mode, log_path)
        try:
            yield Served(kept.server, kept.attempts)
        except BaseException:
            kept.stack.close()
            raise
        kept.attempts += 1
        if self.settings.server_restart == "mode":
            self._kept = kept
        else:
            kept.stack.close()

    def close(self) -> None:
        """Stop the kept server, if there is one."""
        if self._kept is not None:
            kept, self._kept = self._kept, None
            kept.stack.close()

    def _take(self, mode: Mode) -> _Kept | None:
        if self._kept is None or self._kept.mode != mode or not self._kept.server.alive():
            self.close()
            return None
        kept, self._kept = self._kept, None
        return kept

    def _launch(self, mode: Mode, log_path: Path) -> _Kept:
        stack = ExitStack()
        server = stack.enter_context(
            launch(
                mode,
                server_config(self.settings),
                log_path=log_path,
                lock_dir=self.lock_dir,
                device=self.settings.device,
                watch=self.watch,
                say=self.say,
            )
        )
        return _Kept(mode, server, stack)
