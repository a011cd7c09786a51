"""What a hostile candidate is: some files of a submission, and what a grader has to conclude about it."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache

from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.grading.draws import ChosenDraw, derive_seed
from pytest_agentgrade.grading.judged_tree import judged_tree
from pytest_agentgrade.grading.suite import Check, load_checks
from pytest_agentgrade.submission.intake_tar import read_tar
from pytest_agentgrade.submission.tree import Submission, Tree
from tests.graded import the_task

GUARD = """
import os as _os
if _os.getuid() == 0 or not _os.path.exists("/.dockerenv") or _os.path.exists("/var/run/docker.sock"):
    raise RuntimeError("this file acts only inside a judge's container, and never as root")
del _os
"""
"""Stands before the code of every candidate: on a developer's machine, or as root, it refuses to act."""

CODE = {
    "build_planner": "build_planner/planner.py",
    "csv_ledger": "csv_ledger/ledger.py",
    "expiring_cache": "expiring_cache/cache.py",
    "sqlite_transfers": "sqlite_transfers/transfers.py",
}
"""The file of each task that does the work."""

BASELINE = {
    "build_planner": "test_runner_must_return_the_declared_outputs",
    "csv_ledger": "test_plain_rows_add_up_by_account_and_day",
    "expiring_cache": "test_iteration_is_a_snapshot",
    "sqlite_transfers": "test_moves_the_amount_and_records_it",
}
"""The one check that the untouched workspace passes."""

TELLING = {
    "build_planner": ("test_changed_source_runs_its_dependents_only", "test_cycle_is_named"),
    "csv_ledger": ("test_only_plain_digits_are_an_amount", "test_error_while_reading_changes_nothing"),
    "expiring_cache": ("test_what_is_no_ttl_is_refused", "test_expired_entries_are_not_seen"),
    "sqlite_transfers": (
        "test_refuses_more_than_the_balance_of_the_source",
        "test_an_error_in_the_middle_changes_nothing",
    ),
}
"""Two of the nine others: one of values and one of exceptions and of what the host counts."""

PUBLIC = {
    "build_planner": "def build(*a, **k): return on('build', a, k)\n",
    "csv_ledger": """
class Ledger:
    def __init__(self, *a, **k): on('new', a, k)
    def import_rows(self, *a, **k): return on('import_rows', a, k)
    def balance(self, *a, **k): return on('balance', a, k)
    def accounts(self, *a, **k): return on('accounts', a, k)
    def __len__(self): return on('len', (), {})
    def __contains__(self, key): return on('in', (key,), {})
""",
    "expiring_cache": """
class ExpiringCache:
    def __init__(self, *a, **k): on('new', a, k)
    def set(self, *a, **k): return on('set', a, k)
    def get(self, *a, **k): return on('get', a, k)
    def get_or_compute(self, *a, **k): return on('get_or_compute', a, k)
    def purge(self, *a, **k): return on('purge', a, k)
    def __len__(self): return on('len', (), {})
    def __contains__(self, key): return on('in', (key,), {})
    def __iter__(self): return on('iter', (), {})
""",
    "sqlite_transfers": "def transfer(*a, **k): return on('transfer', a, k)\n",
}
"""The public names of each task, all of whose uses end in ``on(what, args, kwargs)``."""


class Conclusion(Enum):
    """What a correct grader concludes."""

    NOT_ABOVE = "fails the checks that the untouched workspace fails"
    UNCHANGED = "is judged as if it were the untouched workspace"
    BELOW = "fails even the check that the untouched workspace passes"
    LIMIT = "is ended by a limit, and fails"


@dataclass(frozen=True)
class Specimen:
    """One hostile candidate."""

    name: str
    task: str
    files: Mapping[str, bytes] = field(repr=False)
    """What it puts into the workspace."""
    concludes: Conclusion = Conclusion.NOT_ABOVE
    checks: tuple[str, ...] = ()
    """Checks that tell; those of TELLING where none are named."""
    deleted: tuple[str, ...] = ()
    """Prefixes of paths it removes."""
    reason: str = ""
    """A pattern that the reason of each failure must match."""

    @property
    def is_text(self) -> bool:
        """Whether a patch can carry it."""
        task = the_task(self.task)
        judged = [data for path, data in self.files.items() if task.is_editable(path) and path.endswith(".py")]
        return all(_is_utf8(data) and b"\0" not in data for data in judged)

    def submission(self) -> Submission:
        """What the agent left, read as a tar stream like any other."""
        task = the_task(self.task)
        kept = {path: file.data for path, file in task.base.items() if not path.startswith(self.deleted or "\0")}
        return read_tar(iter([_tar({**kept, **self.files})]))

    def judged(self) -> tuple[Task, Tree]:
        """What of it gets into a judge's container."""
        task = the_task(self.task)
        return task, judged_tree(task, self.submission().tree)[0]

    def telling(self) -> tuple[str, ...]:
        """Names of the checks to run."""
        if self.concludes is Conclusion.UNCHANGED:
            return (BASELINE[self.task], *(self.checks or TELLING[self.task])[:1])
        if self.concludes is Conclusion.LIMIT:  # seconds each
            return (self.checks or TELLING[self.task])[:1]
        if self.concludes is Conclusion.BELOW:
            return (BASELINE[self.task], *self.checks)
        return self.checks or TELLING[self.task]


def code(name: str, task: str, text: str, concludes: Conclusion = Conclusion.NOT_ABOVE, **more: object) -> Specimen:
    """A candidate that replaces the task's module by ``text``, behind the guard."""
    files = {CODE[task]: (GUARD + text).encode("utf-8", "surrogatepass")}
    return Specimen(name, task, files, concludes, **more)  # type: ignore[arg-type]


def acting(name: str, task: str, on: str, concludes: Conclusion = Conclusion.NOT_ABOVE, **more: object) -> Specimen:
    """A candidate whose every public name ends in the function ``on`` that its text defines."""
    return code(name, task, on + PUBLIC[task], concludes, **more)


@cache
def check_of(task: str, name: str) -> Check:
    """A hidden check by name."""
    return next(check for check in load_checks(the_task(task)) if check.name == name)


def draw_for(task: Task, check: Check, key: bytes = b"hostile") -> ChosenDraw:
    """Inputs of a check, the same in every run of these tests."""
    return ChosenDraw(check.name, 0, derive_seed(key, task.digest, check.name, 0))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _tar(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path, data in files.items():
            member = tarfile.TarInfo(f"./{path}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()
