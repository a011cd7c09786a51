"""The report as a page: what is on it, and that nothing in the records can make it anything else."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pytest_agentgrade.demo import DEMO_NOTE
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.records.loaded import load_folder
from pytest_agentgrade.reporting.html_attempts import PATCH_CHARACTERS
from pytest_agentgrade.reporting.several_runs import Report, report_on
from tests.analysis.proven_records import a_full_attempt, a_server
from tests.records_made_here import a_key, an_attempt
from tests.reporting.hostile_records import EVIL_PATCH, evil_report
from tests.reporting.page_reader import Page, read_page
from tests.stored_runs import store_run
from tests.study_reconstruction import store_study


def page_of(report: Report) -> Page:
    return read_page(report.render("html"))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store_study(tmp_path_factory.mktemp("runs") / "study")


def test_the_verdict_comes_first_in_the_words_of_the_terminal(study: Path) -> None:
    report = report_on([study])
    page = page_of(report)
    finding = next(line for line in report.render("markdown").splitlines() if line.startswith("No evidence"))
    reach = next(line for line in report.render("markdown").splitlines() if line.startswith("Eight pairs cannot"))
    assert page.text.index(finding) < page.text.index(reach) < page.text.index("Modes")


def test_figures_have_their_intervals_and_every_attempt_its_folder(study: Path) -> None:
    page = page_of(report_on([study]))
    assert {"3/8 9 to 76 %", "2/8 3 to 65 %", "36.0", "56.2"} <= {" ".join(cell.split()) for cell in page.cells}
    for record in load_folder(study).records:
        assert f"study/attempts/{record.key.task}/{record.key.label}" in page.text
    assert page.text.count("192.0 s → 153.5 s") == 1, "the chart says its figures as text"
    assert sum(link.startswith("#attempt-") for link in page.links) >= 3 * 16, (
        "modes, pairs and checks lead to attempts"
    )


def test_pairs_are_shown_with_what_differs(tmp_path: Path) -> None:
    records = [a_full_attempt(mode, 10, seed=seed) for seed in (1, 2) for mode in ("baseline", "mtp")]
    records[3] = a_full_attempt("mtp", 10, seed=2, image_id="sha256:other")
    page = page_of(report_on([store_run(tmp_path / "run", records)]))
    assert {"nothing but the mode", "sandbox image: sha256:55 | sha256:other"} <= {cell.strip() for cell in page.cells}
    assert "Pairs: 1 proven, 1 invalid, 0 unproven." in page.text and "Invalid pairs, left out" not in page.text


def test_the_demo_model_is_called_a_fixture_on_top(tmp_path: Path) -> None:
    record = a_full_attempt(server=a_server(demo=True))
    page = page_of(report_on([store_run(tmp_path / "demo", [record])]))
    assert page.text.count(DEMO_NOTE) == 1 and page.text.index(DEMO_NOTE) < page.text.index("What each mode delivered")
    assert DEMO_NOTE not in page_of(report_on([store_run(tmp_path / "real", [a_full_attempt()])])).text


def test_one_mode_is_compared_with_nothing(tmp_path: Path) -> None:
    page = page_of(report_on([store_run(tmp_path / "one", [a_full_attempt(), a_full_attempt(seed=2, passed=3)])]))
    assert "1 of 2 counted attempts left a working patch; nothing is compared." in page.text
    assert "#pairs" not in page.links and page.text.count("3/10") > 1


def test_what_did_not_run_or_ended_by_a_fault_is_told_apart(tmp_path: Path) -> None:
    folder = store_run(tmp_path / "run", [an_attempt(a_key(seed=1), fault="host"), an_attempt(a_key(seed=2))])
    (folder / "attempts" / "t" / "mtp-2" / "4-submission.json").unlink()
    text = page_of(report_on([folder])).text
    assert "Fault of the host, not the model's. no disk" in text and "fault of the host" in text
    assert "did not run" in text


def test_nothing_hostile_gets_through(tmp_path: Path) -> None:
    page = page_of(evil_report(tmp_path / "evil"))
    assert "<script>alert(1)</script>" in page.text, "shown as what it is: text"
    assert "\\x1b[2J" in page.text and "\\u202e" in page.text and "+\\xed\\xa0\\x80=cmd" in page.text
    assert "{{ 7 * 7 }}{% raw %}" in page.text
    assert "s3cret" not in page.text and "API_KEY" in page.text, "values of the agent's environment may be keys"
    assert "5ec4e7" not in page.text, "the key of the draws is a secret"


def test_a_long_patch_is_cut_with_a_note(tmp_path: Path) -> None:
    folder = store_run(tmp_path / "run", [a_full_attempt()])
    patch = folder / "attempts" / "t" / "baseline-4242" / "submission.patch"
    patch.write_text(f"+{'x' * 99}\n" * (PATCH_CHARACTERS // 100 + 1))
    cut = "Cut here. All 40,501 bytes: run/attempts/t/baseline-4242/submission.patch"
    assert cut in page_of(report_on([folder])).text
    patch.write_bytes(b"+\xff\x00\x1b[2J\xe2\x80\xae\n" + EVIL_PATCH.encode("utf-8", "surrogatepass"))
    text = page_of(report_on([folder])).text
    assert "+\\xff\\x00\\x1b[2J\\u202e" in text and "Cut here" not in text


def test_the_same_records_give_the_same_page(study: Path) -> None:
    assert report_on([study]).render("html") == report_on([study]).render("html")


def test_a_junit_file_makes_a_page_as_well(study: Path, tmp_path: Path) -> None:
    from pytest_agentgrade.reporting.output import write_report

    write_report(report_on([study]), tmp_path / "study.xml")
    page = page_of(report_on([tmp_path / "study.xml"]))
    assert "study.xml: expiring_cache[mtp-4242]" in page.text and "3/8" in page.text


def test_without_jinja2_it_is_said_what_to_install(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(SettingsError, match="pip install jinja2"):
        report_on([study]).render("html")


def test_on_a_narrow_screen_tables_are_turned_or_show_that_they_go_on(study: Path) -> None:
    html = report_on([study]).render("html")
    style = html.partition("<style>")[2].partition("</style>")[0]
    turned = set(re.findall(r'<table class="modes (columns-\d+)"', html))
    assert len(turned) >= 2 and all(f"table.modes.{name} {{ --columns: {name[8:]}; }}" in style for name in turned)
    scroll = style.partition(".scroll {")[2].partition("}")[0]
    assert scroll.count("no-repeat local") == scroll.count("no-repeat scroll") == 2, "paper moves over a fixed shade"
