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
from pytest_agentgrade.records.loaded import LoadedRun, load_folder
from pytest_agentgrade.records.model import AttemptRecord, VerdictRecord
from pytest_agentgrade.reporting.properties import case_properties

OTHER = "other tests"


def write_merged(paths: Sequence[Path], output: Path) -> None:
    """Write :func:`merge` of ``paths`` to a file."""
    xml = merge(paths)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
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
        for place, verdict in enumerate(record.verdicts):
            case = _case(record, verdict)
            draw = (verdict.draw_n, verdict.draw_seed)
            told = case_properties(record, loaded.run, beyond=verdict.beyond, draw=draw, whole=place == 0)
            properties = Properties()
            for name, value in told:
                properties.add_property(Property(name, str(value)))
            case.append(properties)
            yield f"{record.key.mode} / {record.key.task}", case


def _case(record: AttemptRecord, verdict: VerdictRecord) -> TestCase:
    task = record.key.task
    case = TestCase(f"{verdict.check}[{record.key.label}]", f"hidden_checks.{task}.test_{task}", verdict.seconds)
    kinds = {"failed": Failure, "error": Error}
    if (kind := kinds.get(verdict.outcome)) is not None:
        case.result = [kind(verdict.reason)]
    return case
