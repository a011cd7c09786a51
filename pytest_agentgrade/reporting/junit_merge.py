"""One JUnit file of several: suites by mode and task, names and properties as they were."""

# junitparser is only partly typed:
# mypy: allow-untyped-calls

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path

from junitparser import Error, Failure, JUnitXml, Properties, Property, TestCase, TestSuite

from pytest_agentgrade.errors import HostError
from pytest_agentgrade.records.junit_input import all_cases, parse_junit, read_case
from pytest_agentgrade.records.junit_names import PREFIX
from pytest_agentgrade.records.loaded import LoadedRun, load_folder
from pytest_agentgrade.records.model import AttemptRecord, VerdictRecord
from pytest_agentgrade.reporting.properties import case_properties

OTHER = "other tests"


def write_merged(paths: Sequence[Path], output: Path) -> None:
    """Write :func:`merge` of ``paths`` to a file."""
    xml = merge(paths)
    try:
        xml.write(str(output))
    except OSError as error:
        raise HostError(f"cannot write {output}: {error}", "choose another -o") from error


def merge(paths: Sequence[Path]) -> JUnitXml:
    """Merge JUnit files, and run folders as what their run would have written; SettingsError for anything else.

    A suite is called ``MODE / TASK``; testcases that are not of a hidden check go into one called ``other tests``.
    """
    suites: dict[str, TestSuite] = {}
    for path in paths:
        for name, case in _of_folder(load_folder(path)) if path.is_dir() else _of_file(path):
            suites.setdefault(name, TestSuite(name)).add_testcase(case)
    merged = JUnitXml("agentgrade")
    for suite in suites.values():
        suite.update_statistics()
        merged.add_testsuite(suite)
    merged.update_statistics()
    return merged


def _of_file(path: Path) -> Iterator[tuple[str, TestCase]]:
    for element in all_cases(parse_junit(path)):
        case = read_case(element)
        yield OTHER if case is None else f"{case.key.mode} / {case.key.task}", deepcopy(element)


def _of_folder(loaded: LoadedRun) -> Iterator[tuple[str, TestCase]]:
    for record in loaded.records:
        for place, (case, verdict) in enumerate(_cases(record)):
            draw = (verdict.draw_n, verdict.draw_seed) if verdict else None
            beyond = verdict is not None and verdict.beyond
            properties = Properties()
            for name, value in case_properties(record, loaded.run, beyond=beyond, draw=draw, whole=place == 0):
                properties.add_property(Property(name, str(value)))
            if verdict is not None and verdict.fingerprint not in ("", loaded.run.tasks.get(record.key.task)):
                properties.add_property(Property(f"{PREFIX}checks", verdict.fingerprint))  # they changed since the run
            case.append(properties)
            yield f"{record.key.mode} / {record.key.task}", case


def _cases(record: AttemptRecord) -> Iterator[tuple[TestCase, VerdictRecord | None]]:
    """A testcase for each verdict; a single error for an attempt that a fault ended."""
    key = record.key
    place = f"hidden_checks.{key.task}.test_{key.task}"
    if record.fault is not None:
        case = TestCase(f"test_attempt[{key.label}]", place, 0.0)
        case.result = [Error(f"{record.fault.fault}: {record.fault.message}")]
        yield case, None
        return
    kinds = {"failed": Failure, "error": Error}
    for verdict in record.verdicts:
        case = TestCase(f"{verdict.check}[{key.label}]", place, verdict.seconds)
        if (kind := kinds.get(verdict.outcome)) is not None:
            case.result = [kind(verdict.reason)]
        yield case, verdict
