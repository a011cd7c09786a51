"""Records on disk: one folder for a run, one for each attempt, one file for each finished phase.

A file appears whole or not at all (written beside its place, synced, renamed), so a kill at any moment loses nothing
that was finished.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from pytest_agentgrade.errors import HostError, SettingsError
from pytest_agentgrade.plan import AttemptKey
from pytest_agentgrade.records.model import (
    RECORD_SCHEMA,
    AgentPhase,
    AttemptRecord,
    DrawRecord,
    FaultRecord,
    KeyRecord,
    RunRecord,
    ServerPhase,
    SubmissionPhase,
    VerdictRecord,
    WorkspacePhase,
)
from pytest_agentgrade.records.tree_file import read_tree, write_tree
from pytest_agentgrade.submission.tree import Tree

_M = TypeVar("_M", bound=BaseModel)
Phase = WorkspacePhase | ServerPhase | AgentPhase | SubmissionPhase | FaultRecord
_PHASE_FILES: dict[type[BaseModel], str] = {
    WorkspacePhase: "1-workspace.json",
    ServerPhase: "2-server.json",
    AgentPhase: "3-agent.json",
    SubmissionPhase: "4-submission.json",
    FaultRecord: "fault.json",
}
RUNS_FOLDER = "agentgrade-runs"
"""Where runs go by default, below pytest's rootdir."""
_RUN_FILE = "run.json"
_SAFE_NAME = re.compile(r"[A-Za-z0-9_.-]+")


class AttemptStore:
    """The folder of one attempt."""

    def __init__(self, folder: Path, key: AttemptKey) -> None:
        self.folder = folder
        self.key = key

    def path(self, name: str) -> Path:
        """Place of a side file (logs, exchanges, patch); the folder exists afterwards."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _cannot_write(self.folder, error) from error
        return self.folder / name

    def write(self, phase: Phase) -> None:
        """Journal a finished phase."""
        _write_model(self.path(_PHASE_FILES[type(phase)]), phase)

    def read(self, phase: type[_M]) -> _M | None:
        """A finished phase, or None."""
        return _read_model(self.folder / _PHASE_FILES[phase], phase)

    def write_submission(self, tree: Tree) -> None:
        """Keep the submitted tree."""
        _write_bytes(self.path("submission.tar"), write_tree(tree))

    def read_submission(self) -> Tree:
        """The submitted tree; HostError when the file is missing, damaged, or of another tree than the phase says."""
        source = self.folder / "submission.tar"
        try:
            tree = read_tree(source.read_bytes())
        except (OSError, ValueError) as error:
            raise HostError(f"cannot read {source}: {error}", "run the attempt again") from error
        phase = self.read(SubmissionPhase)
        if phase is not None and phase.digest != tree.digest:
            raise HostError(f"{source} is not the tree of {_PHASE_FILES[SubmissionPhase]}", "run the attempt again")
        return tree

    def write_text(self, name: str, text: str) -> None:
        """Keep a side file of text, whole or not at all."""
        _write_bytes(self.path(name), text.encode("utf-8", "backslashreplace"))

    def write_bytes(self, name: str, data: bytes) -> None:
        """Keep a side file, whole or not at all."""
        _write_bytes(self.path(name), data)

    def write_verdict(self, verdict: VerdictRecord) -> None:
        """Journal one check's verdict; a later verdict on the same check replaces it."""
        _write_model(self._verdicts() / f"{_safe(verdict.check)}.json", verdict)

    def clear(self) -> None:
        """Set a faulty attempt's files aside (never deleted) so that it can run again."""
        if self.folder.exists():
            _set_aside(self.folder, f"{self.folder.name}.try")

    def replace_verdicts(self, verdicts: Iterable[VerdictRecord]) -> None:
        """Put these in the place of the verdicts there are, which stay as ``verdicts.1`` (``.2`` ...)."""
        folder, fresh = self.path("verdicts"), self.path(".verdicts")
        try:
            if self._verdicts() == fresh:
                fresh.rename(folder)
            if fresh.exists():
                shutil.rmtree(fresh)
            for verdict in verdicts:
                _write_model(fresh / f"{_safe(verdict.check)}.json", verdict)
            if folder.exists():
                _set_aside(folder, "verdicts.")
            fresh.rename(folder)
        except OSError as error:
            raise _cannot_write(folder, error) from error

    def _verdicts(self) -> Path:
        """Where they are: beside their place, if a kill came between the two renames of :meth:`replace_verdicts`."""
        folder, fresh = self.folder / "verdicts", self.folder / ".verdicts"
        return fresh if fresh.is_dir() and not folder.exists() else folder

    def record(self) -> AttemptRecord:
        """Fold all that is on disk into the attempt's record."""
        verdicts = sorted(self._verdicts().glob("*.json"))
        read = [_read_model(path, VerdictRecord) for path in verdicts]
        return AttemptRecord(
            key=KeyRecord(**asdict(self.key)),
            workspace=self.read(WorkspacePhase),
            server=self.read(ServerPhase),
            agent=self.read(AgentPhase),
            submission=self.read(SubmissionPhase),
            fault=self.read(FaultRecord),
            verdicts=[verdict for verdict in read if verdict is not None],
        )


class RunStore:
    """The folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def create(self, run: RunRecord) -> None:
        """Write ``run.json`` first of all."""
        _write_model(self.folder / _RUN_FILE, run)

    def exists(self) -> bool:
        """Whether a run was begun here."""
        return (self.folder / _RUN_FILE).is_file()

    def run(self) -> RunRecord:
        """The run's own record; SettingsError when the folder holds none."""
        record = _read_model(self.folder / _RUN_FILE, RunRecord)
        if record is None:
            raise SettingsError(f"{self.folder} holds no run", "name a folder with a run.json in it")
        return record

    def planned(self) -> tuple[AttemptKey, ...]:
        """All planned attempts, in plan order."""
        return tuple(AttemptKey(**key.model_dump()) for key in self.run().plan)

    def attempt(self, key: AttemptKey) -> AttemptStore:
        """The place of an attempt."""
        return AttemptStore(self.folder / "attempts" / _safe(key.task) / _safe(key.label), key)

    def submitted(self) -> int:
        """How many planned attempts have a stored submission."""
        return sum((self.attempt(key).folder / _PHASE_FILES[SubmissionPhase]).exists() for key in self.planned())

    def records(self) -> Iterator[AttemptRecord]:
        """Records of all planned attempts, in plan order; one that has not run is an empty record."""
        for key in self.planned():
            yield self.attempt(key).record()

    def write_draws(self, task: str, draws: Iterable[DrawRecord]) -> None:
        """Keep the draws of one task."""
        _write_model(self.folder / "draws" / f"{_safe(task)}.json", _Draws(draws=list(draws)))

    def read_draws(self, task: str) -> dict[str, DrawRecord] | None:
        """Draws of one task by check, or None when they were not made yet."""
        draws = _read_model(self.folder / "draws" / f"{_safe(task)}.json", _Draws)
        return None if draws is None else {draw.check: draw for draw in draws.draws}


class _Draws(BaseModel):
    draws: list[DrawRecord]


def _safe(name: str) -> str:
    if not _SAFE_NAME.fullmatch(name) or name in {".", ".."}:
        raise HostError(f"{name!r} in {_RUN_FILE} cannot name a file", "the run's record was changed by hand")
    return name


def _set_aside(folder: Path, name: str) -> None:
    """Rename to the first of ``name1``, ``name2`` ... that is free."""
    places = (folder.with_name(f"{name}{number}") for number in count(1))
    try:
        folder.rename(next(place for place in places if not place.exists()))
    except OSError as error:
        raise _cannot_write(folder, error) from error


def _write_model(path: Path, model: BaseModel) -> None:
    _write_bytes(path, (model.model_dump_json(indent=1) + "\n").encode())


def _write_bytes(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)  # what half a file takes of a full disk is needed elsewhere
            raise
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> HostError:
    return HostError(f"cannot write {path}: {error}", "free some disk space or choose another --agent-run-dir")


def _read_model(path: Path, model: type[_M]) -> _M | None:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise HostError(f"cannot read {path}: {error}", "move the file aside") from error
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        where = ".".join(map(str, detail["loc"]))
        raise HostError(
            f"{path} is no {model.__name__} of schema {RECORD_SCHEMA}: {where}: {detail['msg']}",
            "move the file aside, or read it with the version that wrote it",
        ) from error
