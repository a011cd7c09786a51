"""Keeps attempts in plan order when several processes share a run."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.errors import HostError
from pytest_agentgrade.plan import AttemptKey
from pytest_agentgrade.sandbox.owner import Owner

_POLL_SECONDS = 0.1
_MARGIN_SECONDS = 300.0
_AT_WORK = "at-work"
"""Names the process whose turn it is, while it is."""


class Turns:
    """Attempt i starts when attempt i - 1 of the chosen ones has ended, in whichever process that was."""

    def __init__(self, folder: Path, testrun: str | None, order: Sequence[AttemptKey]) -> None:
        self._folder = None if testrun is None else folder / testrun
        self._order = list(order)

    @contextmanager
    def turn(self, key: AttemptKey, settings: Settings) -> Generator[None, None, None]:
        """Wait for this attempt's turn, and end it afterwards whatever happens. Alone, it is always one's turn."""
        if self._folder is None:
            yield
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        index = self._order.index(key)
        self._wait(index, settings)
        (self._folder / _AT_WORK).write_text(Owner.current().token, encoding="ascii")
        try:
            yield
        finally:
            (self._folder / _AT_WORK).unlink(missing_ok=True)  # before the next one may write its own
            (self._folder / str(index)).touch()

    def _wait(self, index: int, settings: Settings) -> None:
        """An attempt takes its clock, a server start for each try and a margin; longer means a lost process.

        A process that lives may take longer: it waits for another run of this host.
        """
        assert self._folder is not None
        longest = settings.task_seconds + 2 * settings.server_seconds + _MARGIN_SECONDS
        deadline, ended = time.monotonic() + longest, self._ended()
        while index > 0 and not (self._folder / str(index - 1)).exists():
            if self._ended() > ended or self._is_at_work():
                deadline, ended = time.monotonic() + longest, self._ended()
            if time.monotonic() > deadline:
                remedy = "run again with the same --agent-run-dir"
                raise HostError(f"attempt {self._order[index - 1]} never ended", remedy)
            time.sleep(_POLL_SECONDS)

    def _is_at_work(self) -> bool:
        """Whether the process whose turn it is lives. False while nobody's is noted."""
        assert self._folder is not None
        try:
            owner = Owner.from_token((self._folder / _AT_WORK).read_text(encoding="ascii"))
        except FileNotFoundError:
            return False
        return owner is not None and not owner.is_gone()

    def _ended(self) -> int:
        assert self._folder is not None
        return sum(1 for note in self._folder.iterdir() if note.name != _AT_WORK)
