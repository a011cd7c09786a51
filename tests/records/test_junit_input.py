"""JUnit files as input: what a run wrote, what others wrote, and what nobody should."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_agentgrade.analysis.contrasts import contrasts
from pytest_agentgrade.analysis.experiment import arrange
from pytest_agentgrade.analysis.pairs import ProofStatus
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.records.inputs import load_runs
from pytest_agentgrade.records.junit_input import load_junit, parse_junit
from pytest_agentgrade.records.loaded import load_folder
from pytest_agentgrade.reporting.junit_merge import write_merged
from tests.analysis.proven_records import a_full_attempt
from tests.records_made_here import a_verdict, an_attempt
from tests.stored_runs import store_run

HEAD = '<?xml version="1.0" encoding="utf-8"?>'
CASE = '<testcase classname="hidden_checks.t.test_t" name="test_{check}[{label}]" time="0.5">{inside}</testcase>'


def the_run(folder: Path) -> Path:
    records = [
        a_full_attempt(mode, passed, seed=seed)
        for seed in (1, 2)
        for mode, passed in (("baseline", 10), ("mtp", 3 + seed))
    ]
    records[0] = records[0].model_copy(update={"verdicts": [*records[0].verdicts, a_verdict(1, "failed", beyond=True)]})
    return store_run(folder, records)


def junit_of(folder: Path) -> Path:
    write_merged([folder], folder.with_suffix(".xml"))
    return folder.with_suffix(".xml")


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "junit.xml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def suite(*cases: str) -> str:
    return f"{HEAD}<testsuites><testsuite name='pytest'>{''.join(cases)}</testsuite></testsuites>"


def stripped(label: str, outcomes: str) -> list[str]:
    inside = {".": "", "F": '<failure message="no"/>', "E": '<error message="host"/>', "s": "<skipped/>"}
    return [CASE.format(check=n, label=label, inside=inside[mark]) for n, mark in enumerate(outcomes)]


def test_a_run_and_its_junit_file_say_the_same(tmp_path: Path) -> None:
    folder = the_run(tmp_path / "r1")
    (from_file,), from_folder = load_junit(junit_of(folder)), load_folder(folder)
    assert {r.key.label: r.model_dump(exclude={"verdicts": {"__all__": {"reason"}}}) for r in from_file.records} == {
        r.key.label: r.model_dump(exclude={"verdicts": {"__all__": {"reason"}}}) for r in from_folder.records
    }
    assert from_file.notes == () and from_file.run.order == "balanced" and from_file.run.draw_key == ""


def test_pairs_are_proved_from_the_file_alone(tmp_path: Path) -> None:
    (found,) = contrasts(arrange(load_runs([junit_of(the_run(tmp_path / "r1"))])))
    assert [pair.proof.status for pair in found.pairs.tried] == [ProofStatus.PROVEN] * 2
    assert found.pairs.order == "balanced"


def test_a_run_given_twice_counts_once(tmp_path: Path) -> None:
    folder = the_run(tmp_path / "r1")
    assert len(load_runs([folder, junit_of(folder), folder])) == 1


def test_without_properties_outcomes_are_left_and_pairs_are_unproven(tmp_path: Path) -> None:
    path = written(tmp_path, suite(*stripped("baseline-7", "." * 10), *stripped("mtp-7", "." * 9 + "F")))
    runs = load_runs([path])
    (found,) = contrasts(arrange(runs))
    (pair,) = found.pairs.tried
    assert pair.proof.status is ProofStatus.UNPROVEN and {"first request", "draws"} <= set(pair.proof.missing)
    assert (pair.first.record.delivers, pair.second.record.delivers, pair.order) == (True, False, "blocked")
    assert "2 attempts without their record" in runs[0].notes[0]


def test_labels_tell_repeat_and_budget(tmp_path: Path) -> None:
    ((record,),) = [run.records for run in load_junit(written(tmp_path, suite(*stripped("q4.1-7-r2-b16384", "."))))]
    assert (record.key.mode, record.key.seed, record.key.repeat, record.key.response_tokens) == ("q4.1", 7, 2, 16_384)


def test_an_error_or_a_skip_is_no_verdict_on_the_candidate(tmp_path: Path) -> None:
    ((record,),) = [run.records for run in load_junit(written(tmp_path, suite(*stripped("mtp-7", "..E.s"))))]
    assert not record.complete and [v.outcome for v in record.verdicts] == ["passed", "passed", "error", "passed"]


def test_a_second_testcase_of_the_same_name_cannot_undo_a_failure(tmp_path: Path) -> None:
    ((record,),) = [
        run.records for run in load_junit(written(tmp_path, suite(*stripped("mtp-7", "F"), *stripped("mtp-7", "."))))
    ]
    assert [verdict.outcome for verdict in record.verdicts] == ["failed"]


def test_other_tests_in_the_file_are_left_alone(tmp_path: Path) -> None:
    other = '<testcase classname="tests.test_a" name="test_a[mtp-7]" time="1"/>'
    (run,) = load_junit(written(tmp_path, suite(other, *stripped("mtp-7", "."))))
    assert len(run.records) == 1
    with pytest.raises(SettingsError, match="holds no testcase of a hidden check"):
        load_junit(written(tmp_path, suite(other)))


def test_text_of_a_file_is_escaped(tmp_path: Path) -> None:
    inside = '<failure message="&#x202e;evil &#x85;"/>'
    (run,) = load_junit(written(tmp_path, suite(CASE.format(check="x", label="mtp-7", inside=inside))))
    assert run.records[0].verdicts[0].reason == r"\u202eevil \x85"


@pytest.mark.parametrize("time", ["", "soon", "nan", "-inf", "1,000.5"])
def test_odd_times_of_a_testcase_hurt_nobody(tmp_path: Path, time: str) -> None:
    case = stripped("mtp-7", ".")[0].replace('time="0.5"', f'time="{time}"')
    (run,) = load_junit(written(tmp_path, suite(case)))
    assert run.records[0].verdicts[0].seconds in (0.0, 1000.5)


@pytest.mark.parametrize("label", ["mtp-" + "9" * 5000, "mtp-\u0967", "../x-1", "MTP-7", "mtp-7-r", "mtp"])
def test_a_label_that_no_run_writes_is_no_attempt(tmp_path: Path, label: str) -> None:
    with pytest.raises(SettingsError, match="holds no testcase of a hidden check"):
        load_junit(written(tmp_path, suite(*stripped(label, "."))))


def test_an_attempt_ended_by_a_fault_stays_uncounted(tmp_path: Path) -> None:
    store_run(tmp_path / "r1", [an_attempt(fault="host"), a_full_attempt("baseline")])
    (run,) = load_junit(junit_of(tmp_path / "r1"))
    (faulty,) = [record for record in run.records if record.key.mode == "mtp"]
    assert faulty.fault is not None and faulty.fault.message == "no disk" and not faulty.verdicts


BILLION_LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
    '<testsuites><testsuite name="&b;"/></testsuites>'
)
EXTERNAL = '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><testsuites><testsuite>&f;</testsuite></testsuites>'


@pytest.mark.parametrize(
    "text",
    [BILLION_LAUGHS, EXTERNAL, BILLION_LAUGHS.encode("utf-16"), "<!DOCTYPE a><testsuites/>"],
    ids=["entities", "external", "utf-16", "bare"],
)
def test_a_document_type_is_refused(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(SettingsError, match="declares a document type"):
        parse_junit(written(tmp_path, text))


@pytest.mark.parametrize(
    "text", ["", "no xml", "<testsuites>", "<html/>", b"\xff\xfe\x00", "<?xml version='1.0' encoding='nonsense'?><a/>"]
)
def test_what_is_no_junit_file_is_the_users_error(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(SettingsError, match=r"cannot be read as JUnit XML|holds no testcase"):
        load_junit(written(tmp_path, text))


def test_a_missing_file_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="name a run folder or a JUnit file"):
        load_runs([tmp_path / "missing.xml"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((r"&quot;mode&quot;:&quot;mtp&quot;", "&quot;mode&quot;:&quot;other&quot;"), "carries the record of"),
        ((r"&quot;clock_seconds&quot;:", "&quot;clock&quot;:"), "cannot be read"),
        ((r"{&quot;run&quot;:", "{"), "cannot be read"),
        ((r"&quot;clock_seconds&quot;:100.0", "&quot;clock_seconds&quot;:1e999"), "a number in it is not finite"),
        ((r"&quot;clock_seconds&quot;:100.0", "&quot;clock_seconds&quot;:NaN"), "a number in it is not finite"),
    ],
)
def test_a_record_that_was_edited_is_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = junit_of(the_run(tmp_path / "r1"))
    text = path.read_text()
    assert change[0] in text
    with pytest.raises(SettingsError, match=message):
        load_junit(written(tmp_path, text.replace(*change)))


def test_merging_keeps_names_and_properties(tmp_path: Path) -> None:
    one, other = junit_of(the_run(tmp_path / "r1")), written(tmp_path, suite(*stripped("mtp-9", ".F")))
    write_merged([one, other], tmp_path / "merged.xml")
    suites = {found.name: list(found) for found in parse_junit(tmp_path / "merged.xml")}
    assert {name: len(cases) for name, cases in suites.items()} == {"baseline / t": 21, "mtp / t": 22}
    assert {case.name for case in suites["mtp / t"]} >= {"test_0[mtp-9]", "test_check_0[mtp-1]"}
    again = [run for run in load_junit(tmp_path / "merged.xml") if run.run.created_at]
    assert [run.records for run in again] == [run.records for run in load_junit(one)]


def test_what_is_left_of_a_file_that_was_cut_is_no_working_patch(tmp_path: Path) -> None:
    cases = [*stripped("baseline-7", "." * 10), *stripped("mtp-7", "." * 7), *stripped("mtp-8", "." * 12)]
    (run,) = load_junit(written(tmp_path, suite(*cases)))
    assert [(r.key.label, r.complete) for r in run.records] == [
        ("baseline-7", False), ("mtp-7", False), ("mtp-8", True),
    ]  # fmt: skip
    (alone,) = load_junit(written(tmp_path, suite(*stripped("mtp-7", "..."))))
    assert not alone.records[0].complete and not alone.records[0].delivers


def test_a_run_in_several_files_is_read_whole(tmp_path: Path) -> None:
    folder = the_run(tmp_path / "r1")
    text = junit_of(folder).read_text()
    half = tmp_path / "half.xml"
    half.write_text(text.replace("test_check_3[mtp-1]", "no_check[mtp-1]").replace("[mtp-2]", "[]"))
    runs = load_runs([half, folder])
    chosen = arrange(runs)
    assert len(chosen.chosen) == 4 and all(record.complete for record in chosen.records)
    assert [len(run.records) for run in runs] == [3, 2] and not chosen.twins
    (found,) = contrasts(chosen)
    assert len(found.pairs.usable) == 2 and found.pairs.order == "balanced"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("clock_seconds", "1e308", "larger than any"),
        ("predicted_tokens", "1" + "0" * 400, "larger than any"),
        ("clock_seconds", "-5", "greater than or equal to 0"),
        ("predicted_seconds", "-0.1", "greater than or equal to 0"),
    ],
)
def test_figures_that_no_run_has_are_refused(tmp_path: Path, field: str, value: str, message: str) -> None:
    text = junit_of(the_run(tmp_path / "r1")).read_text()
    old = "3600" if field == "predicted_tokens" else "100.0"
    changed = text.replace(f"&quot;{field}&quot;:{old}", f"&quot;{field}&quot;:{value}")
    assert changed != text
    with pytest.raises(SettingsError, match=message):
        load_junit(written(tmp_path, changed))
