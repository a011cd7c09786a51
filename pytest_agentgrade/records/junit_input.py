"""JUnit files as input: the attempts that a pytest run, here or elsewhere, wrote into its report.

A file is foreign text: no document type (so no entities, internal or external), bounded size, every text escaped.
"""

# junitparser is only partly typed:
# mypy: allow-untyped-calls

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn
from xml.parsers import expat

from junitparser import Error, Failure, JUnitXml, JUnitXmlError, Properties, Skipped, TestCase, TestSuite
from pydantic import ValidationError

from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.escaping import escape
from pytest_agentgrade.records.junit_names import PREFIX, RECORD
from pytest_agentgrade.records.loaded import LoadedRun
from pytest_agentgrade.records.model import AttemptRecord, KeyRecord, RunRecord, SubmissionPhase, VerdictRecord
from pytest_agentgrade.wording import counted

MAX_BYTES = 256 * 1024 * 1024
_NAME = re.compile(
    r"(?P<check>test_\w{1,200})"
    r"\[(?P<label>(?P<mode>[a-z0-9_.]{1,100})-(?P<seed>[0-9]{1,10})(-r(?P<r>[0-9]{1,6}))?(-b(?P<b>[0-9]{1,9}))?)\]",
    re.ASCII,
)
_CLASS = re.compile(r"(?:.*\.)?hidden_checks\.(?P<task>\w{1,100})\.test_(?P=task)", re.ASCII)
_TEN = 10
"""Counted checks of a task."""
_LARGEST = 2**53
_RANK = {"passed": 0, "failed": 1, "error": 2}
_Outcome = Literal["passed", "failed", "error"]


@dataclass(frozen=True)
class JUnitCase:
    """One testcase of a hidden check."""

    element: TestCase
    key: KeyRecord
    check: str
    properties: Mapping[str, str]

    @property
    def run(self) -> str:
        """Name of the run it says it belongs to; empty when it says nothing."""
        return self.properties.get(f"{PREFIX}run", "")


def parse_junit(path: Path) -> JUnitXml:
    """Read the file; SettingsError when it is none, declares a document type or is too large."""
    try:
        data = path.read_bytes() if path.stat().st_size <= MAX_BYTES else None
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error}", "name a run folder or a JUnit file") from error
    if data is None:
        raise SettingsError(f"{path} has more than {MAX_BYTES:,} bytes", "name a JUnit file of a graded run")
    try:
        _refuse_document_type(data)
        return JUnitXml.fromstring(data)
    except (expat.ExpatError, JUnitXmlError, SyntaxError, ValueError, LookupError) as error:
        raise SettingsError(
            f"{path} cannot be read as JUnit XML: {error}", "name a run folder or a JUnit file"
        ) from error


def all_cases(xml: JUnitXml) -> Iterator[TestCase]:
    """Every testcase, nested suites included."""
    for suite in xml:
        yield from _cases_of(suite)


def read_case(element: TestCase) -> JUnitCase | None:
    """What a testcase says of a hidden check; None when it is of another test."""
    name, place = _NAME.fullmatch(element.name or ""), _CLASS.fullmatch(element.classname or "")
    if name is None or place is None:
        return None
    properties = {
        str(entry.name): str(entry.value)
        for group in element.iterchildren(Properties)
        for entry in group
        if (entry.name or "").startswith(PREFIX)
    }
    key = KeyRecord(
        task=place["task"],
        mode=name["mode"],
        seed=int(name["seed"]),
        repeat=int(name["r"] or 0),
        response_tokens=_small_int(name["b"] or properties.get(f"{PREFIX}response_tokens", "0")),
        label=name["label"],
    )
    return JUnitCase(element, key, name["check"], properties)


def load_junit(path: Path) -> tuple[LoadedRun, ...]:
    """The runs whose attempts the file holds, each with what it tells of them; SettingsError when it holds none."""
    by_run: dict[str, list[JUnitCase]] = {}
    for element in all_cases(parse_junit(path)):
        if (case := read_case(element)) is not None:
            by_run.setdefault(case.run, []).append(case)
    if not by_run:
        raise SettingsError(f"{path} holds no testcase of a hidden check", "name the JUnit file of a graded run")
    return tuple(_loaded(path, name, cases) for name, cases in by_run.items())


def _loaded(path: Path, name: str, cases: Iterable[JUnitCase]) -> LoadedRun:
    by_key: dict[KeyRecord, list[JUnitCase]] = {}
    for case in cases:
        by_key.setdefault(case.key, []).append(case)
    told = {key: _told(path, group) for key, group in by_key.items()}
    runs = [run for run, _ in filter(None, told.values())]
    checks = _checks_of_tasks(by_key)
    records = tuple(_record(key, group, told[key], checks[key.task]) for key, group in by_key.items())
    run = (runs[0] if runs else _unknown_run(escape(name) or path.name)).model_copy(update={"plan": list(by_key)})
    silent = sum(one is None for one in told.values())
    without = f"{counted(silent, 'attempt')} without {'its' if silent == 1 else 'their'} record"
    note = f"{path.name}: {without}: no times, no pair proof, @beyond checks count."
    return LoadedRun(run, records, path, (note,) if silent else ())


def _checks_of_tasks(by_key: Mapping[KeyRecord, Iterable[JUnitCase]]) -> dict[str, int]:
    """Task -> verdicts that make an attempt without a record complete: ten, or all that any of them has.

    A file that was cut, or made with ``-k`` or ``-x``, must not make a working patch of the checks that are left.
    """
    names: dict[str, set[str]] = {}
    for key, cases in by_key.items():
        counted_ones = {case.check for case in cases if case.properties.get(f"{PREFIX}beyond") != "true"}
        names.setdefault(key.task, set()).update(counted_ones)
    return {task: max(_TEN, len(found)) for task, found in names.items()}


def _record(
    key: KeyRecord, cases: Iterable[JUnitCase], told: tuple[RunRecord, AttemptRecord] | None, checks: int
) -> AttemptRecord:
    verdicts: dict[str, VerdictRecord] = {}
    for verdict in filter(None, map(_verdict, cases)):
        before = verdicts.get(verdict.check)
        # An error while a test is torn down is a second testcase of the same name.
        if before is None or _RANK[verdict.outcome] > _RANK[before.outcome]:
            verdicts[verdict.check] = verdict
    found = [verdicts[check] for check in sorted(verdicts)]
    if told is not None:
        record = told[1]
        return record.model_copy(update={"verdicts": [] if record.fault else found})
    submission = SubmissionPhase(origin="junit", digest=None)
    return AttemptRecord(key=key, submission=submission, verdicts=found, expected_checks=checks)


def _verdict(case: JUnitCase) -> VerdictRecord | None:
    results = case.element.result
    if any(isinstance(result, Skipped) for result in results):
        return None
    outcome: _Outcome = "passed"
    for kind, name in ((Failure, "failed"), (Error, "error")):
        if any(isinstance(result, kind) for result in results):
            outcome = name  # type: ignore[assignment]
    n, _, seed = case.properties.get(f"{PREFIX}draw", "").partition(":")
    return VerdictRecord(
        check=case.check,
        beyond=case.properties.get(f"{PREFIX}beyond") == "true",
        outcome=outcome,
        reason=escape(str(results[0].message or "")) if results else "",
        seconds=_seconds(case.element),
        draw_n=_small_int(n),
        draw_seed=escape(seed),
        fingerprint=escape(case.properties.get(f"{PREFIX}checks", ""), 100),
    )


def _told(path: Path, cases: Iterable[JUnitCase]) -> tuple[RunRecord, AttemptRecord] | None:
    """Run and attempt as one of the testcases tells them."""
    for case in cases:
        if (text := case.properties.get(RECORD)) is None:
            continue
        try:
            data = _escaped(json.loads(text))
            run, attempt = RunRecord.model_validate(data["run"]), AttemptRecord.model_validate(data["attempt"])
        except (ValueError, TypeError, KeyError, RecursionError, ValidationError) as error:
            what = f"{path}: the record in {case.element.name} cannot be read: {escape(str(error), 300)}"
            raise SettingsError(what, "read it with the version that wrote it") from error
        if attempt.key != case.key or run.run_id != case.run:
            raise SettingsError(
                f"{path}: {case.element.name} carries the record of {attempt.key.label}", "do not edit it"
            )
        return run, attempt
    return None


def _unknown_run(name: str) -> RunRecord:
    return RunRecord(
        run_id=name, created_at=0.0, version="", settings={}, sources={}, modes={}, plan=[], plan_digest="",
        order="unknown", draw_key="", host={},
    )  # fmt: skip


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return escape(value, 10_000)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number in it is not finite")
    if isinstance(value, int | float) and abs(value) > _LARGEST:
        raise ValueError("a number in it is larger than any that a run writes")
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    if isinstance(value, dict):
        return {escape(name, 200): _escaped(item) for name, item in value.items()}
    return value


def _small_int(text: str) -> int:
    """A number of up to nine digits; 0 for anything else."""
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else 0


def _seconds(element: TestCase) -> float:
    try:
        seconds = float(element.time or 0.0)
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) else 0.0


def _cases_of(suite: TestSuite) -> Iterator[TestCase]:
    yield from suite
    for inner in suite.testsuites():
        yield from _cases_of(inner)


def _refuse_document_type(data: bytes) -> None:
    """A JUnit file has none; without one there is no entity to expand and nothing to fetch."""

    def refuse(*_names: object) -> NoReturn:
        raise ValueError("it declares a document type, which a JUnit file never does")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(data, True)
