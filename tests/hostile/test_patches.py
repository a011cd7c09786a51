"""Hostile patches through the whole of pytest: ``--agent-patches``, terminal, JUnit and records."""

from __future__ import annotations

import base64
import csv
import io
import re
import zlib
from xml.etree import ElementTree

import pytest

from pytest_agentgrade.reporting.several_runs import report_on
from pytest_agentgrade.submission.patches import apply_patch
from pytest_agentgrade.submission.render import render_patch
from tests.graded import QUIET_PLUGINS, Graded, run_pytest, the_task
from tests.reporting.page_reader import read_page

from .lying import LYING
from .specimen import BASELINE, CODE, Specimen

TASK = "csv_ledger"
NEW = "diff --git a/{0} b/{0}\nnew file mode 100644\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+x = 1\n"
GOOD = NEW.format("csv_ledger/more.py")


def plain(path: str) -> str:
    return f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x = 1\n"


def link(path: str, target: str) -> str:
    return (
        f"diff --git a/{path} b/{path}\nnew file mode 120000\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{target}\n"
        "\\ No newline at end of file\n"
    )


def bomb() -> str:
    """64 MiB of zeros as git's own compressed binary patch: 64 kB of text."""
    packed = zlib.compress(bytes(64 << 20), 9)
    lines = []
    for start in range(0, len(packed), 52):
        piece = packed[start : start + 52]
        size = chr(ord("A") + len(piece) - 1) if len(piece) <= 26 else chr(ord("a") + len(piece) - 27)
        lines.append(size + base64.b85encode(piece + bytes(-len(piece) % 4)).decode())
    head = "diff --git a/csv_ledger/b.py b/csv_ledger/b.py\nnew file mode 100644\nindex 0000000..1111111\n"
    return f"{head}GIT binary patch\nliteral {64 << 20}\n" + "\n".join(lines) + "\n\nliteral 0\nHcmV?d00001\n\n"


REFUSED: dict[str, tuple[str | bytes, str]] = {
    "symlink": (GOOD + link("csv_ledger/l", "/etc/passwd"), "'csv_ledger/l' is a symbolic link"),
    "symlink_then_through": (
        link("csv_ledger/d", "/tmp") + NEW.format("csv_ledger/d/x.py"), "'csv_ledger/d' is a symbolic link",
    ),
    "symlink_by_index": (
        NEW.format("csv_ledger/l.py").replace("--- /dev", "index 0000000..1111111 120000\n--- /dev"), "symbolic link",
    ),
    "symlink_by_mode": (
        "diff --git a/README.md b/README.md\nold mode 100644\nnew mode 120000\n", "'README.md' is a symbolic link",
    ),
    "traversal": (plain("../outside.py"), "'../outside.py' holds '..' as a part"),
    "traversal_inside": (NEW.format("csv_ledger/../../x.py"), "'csv_ledger/../../x.py'"),
    "absolute": (plain("/etc/cron.d/x").replace("b//", "/"), "path '/etc/cron.d/x' is absolute"),
    "git_hook": (NEW.format(".git/hooks/post-checkout"), "'.git/hooks/post-checkout' is named like git's own folder"),
    "git_config_in_capitals": (NEW.format("csv_ledger/.GIT/config"), ".GIT/config' is named like git's own"),
    "git_short_name": (NEW.format("GIT~1/config"), "'GIT~1/config' is named like git's own folder"),
    "git_with_invisible_letters": (NEW.format(".g\u200cit/config"), "\\u200c"),
    "submodule": (
        NEW.format("sub").replace("100644", "160000").replace("x = 1", "Subproject commit " + "1" * 40),
        "'sub' is a submodule",
    ),
    "bomb": (bomb(), "'csv_ledger/b.py': binary changes are not accepted"),
    "much_text": ("+" * 5_000_000, "4194304 are allowed"),
    "many_files": ("".join(NEW.format(f"csv_ledger/m{n}.py") for n in range(5_001)), "more than 5000 files"),
    "line_break_in_name": (plain('"b/csv_ledger/a\\nPASSED.py"').replace("b/", "", 1), "a\\x0aPASSED.py"),
    "escape_in_name": (plain('"b/csv_ledger/\\033[2J.py"').replace("b/", "", 1), "\\x1b[2J.py"),
    "raw_escape_in_name": (plain("csv_ledger/\x1b]0;x\x07.py"), "\\x1b]0;x\\x07.py"),
    "bidi_in_name": (plain("csv_ledger/\u202eyp.rotide"), "\\u202eyp.rotide"),
    "quote_in_name": (plain("csv_ledger/a'\"b.py"), "holds a quote or a backslash"),
    "no_utf8_in_name": (plain("csv_ledger/\udcff.py").encode("utf-8", "surrogateescape"), "is not UTF-8"),
    "trailing_section": (GOOD + "diff --git a/x b/x\nsimilarity index 100%\n", "changes nothing"),
    "trailing_words": (GOOD + "And now for something\ncompletely different\nthat no tool\nreads\n", "belongs to no"),
    "cut_hunk": (GOOD.replace("@@ -0,0 +1 @@", "@@ -0,0 +1,2 @@"), "hunk 1"),
    "half_crlf": (GOOD.replace("x = 1\n", "x = 1\n", 1).replace("\n", "\r\n", 2), "CRLF"),
    "no_match": ("--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-\x1b[2J\n+x\n", "does not match the workspace"),
    "twice": (GOOD + GOOD, "in two places"),
    "file_and_folder": (GOOD + NEW.format("csv_ledger/more.py/x.py"), "both a file and the folder"),
    "nothing": ("PASSED\n" * 10, "no change of any file"),
    "xml_in_name": (NEW.format("csv_ledger/]]><script>&amp;\x00.py"), "]]><script>&amp;\\x00.py"),
}  # fmt: skip
"""Name -> patch, and what the error must say: the path, escaped."""
_HONEST = {
    "extras": NEW.format("conftest.py") + NEW.format("tests/test_more.py") + NEW.format("csv_ledger/<b>&.py"),
    "with_crlf": GOOD.replace("\n", "\r\n"),
    "with_lf": GOOD,
}


def _colours() -> str:
    """The candidate whose errors are full of control characters, here for this task."""
    specimen = next(one for one in LYING if one.name == "colours_in_errors")
    text = specimen.files[CODE[specimen.task]].decode().split("def transfer")[0]
    more = "class Ledger:\n    def __init__(self): on('new', (), {})\n"
    task = the_task(TASK)
    files = Specimen("colours", TASK, {CODE[TASK]: (text + more).encode()})
    return render_patch(task.base, files.submission().tree)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    folder = tmp_path_factory.mktemp("hostile")
    patches = {**{name: text for name, (text, _) in REFUSED.items()}, **_HONEST, "colours": _colours()}
    for name, text in patches.items():
        (folder / "patches" / name).mkdir(parents=True)
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
        (folder / "patches" / name / f"{TASK}.patch").write_bytes(data)
    return run_pytest(
        folder, "--agent-patches=patches", f"--agent-mode={','.join(patches)}", f"--agent-task={TASK}",
        "--agent-seed=1", "-k", f"{BASELINE[TASK]} or test_rules_of_header", "--junitxml=junit.xml", "-vv", "-rA",
        "--agent-report=report.html",
        "--tb=long", "--showlocals", *QUIET_PLUGINS, seconds=400,
    )  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_patch_is_refused_whole_and_the_error_names_the_path(graded: Graded, name: str) -> None:
    record = graded.records[f"{TASK}[{name}-1]"]
    assert record.submission is not None and record.submission.refused is not None, record
    assert REFUSED[name][1] in record.submission.refused
    assert record.submission.digest is None and record.fault is None
    assert [verdict.outcome for verdict in record.verdicts] == ["failed", "failed"]
    assert all(REFUSED[name][1] in verdict.reason for verdict in record.verdicts)


def test_honest_extras_do_not_disqualify(graded: Graded) -> None:
    submission = graded.records[f"{TASK}[extras-1]"].submission
    assert submission is not None and submission.changed == ["csv_ledger/<b>&.py"]
    assert submission.ignored == ["conftest.py", "tests/test_more.py"]
    assert graded.records[f"{TASK}[extras-1]"].passed == 1


def test_line_ends_make_no_difference(graded: Graded) -> None:
    found = [graded.records[f"{TASK}[{name}-1]"] for name in ("with_crlf", "with_lf")]
    assert {record.submission.digest for record in found if record.submission} != {None}
    assert len({(record.submission and record.submission.digest, record.passed) for record in found}) == 1


UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def test_nothing_that_a_terminal_obeys_is_printed(graded: Graded) -> None:
    assert UNSEEN.search(graded.output) is None
    assert "\\x1b[2J" in graded.output and "\\u202e" in graded.output


def test_junit_is_well_formed_and_says_it_as_text(graded: Graded) -> None:
    text = (graded.folder / "junit.xml").read_text(encoding="utf-8")
    assert UNSEEN.search(text) is None
    root = ElementTree.fromstring(text)
    assert not list(root.iter("script")) and not list(root.iter("b"))
    assert len(list(root.iter("testcase"))) == len(graded.testcases()) == 2 * (len(REFUSED) + len(_HONEST) + 1)
    shown = "".join(root.itertext())
    assert "]]><script>" in shown and "\\x1b[2J" in shown


def test_the_page_is_well_formed_and_says_it_as_text(graded: Graded) -> None:
    page = read_page((graded.folder / "report.html").read_text(encoding="utf-8"))
    assert "csv_ledger/]]><script>&amp;\\x00.py" in page.text and "\\x1b]0;x\\x07.py" in page.text
    assert all(f"attempts/{TASK}/{name}-1" in page.text for name in (*REFUSED, *_HONEST, "colours"))
    assert f"report: {graded.folder / 'report.html'}" in graded.output


@pytest.mark.parametrize("table", ["csv", "csv-checks"])
def test_tables_keep_it_in_its_cell(graded: Graded, table: str) -> None:
    text = report_on([graded.run.folder]).render(table)
    assert UNSEEN.search(text.replace("\r\n", "\n")) is None
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    assert len(rows) == (len(REFUSED) + len(_HONEST) + 1) * (1 if table == "csv" else 2)
    assert not any(None in row or None in row.values() for row in rows)


def test_records_hold_nothing_but_text(graded: Graded) -> None:
    for path in (graded.run.folder / "attempts").rglob("*.json"):
        assert UNSEEN.search(path.read_text(encoding="utf-8")) is None, path
    for path in (graded.run.folder / "attempts").rglob("*.patch"):
        assert UNSEEN.search(path.read_text(encoding="utf-8")) is None, path


def test_memory_stays_bounded(graded: Graded) -> None:
    assert graded.code == pytest.ExitCode.TESTS_FAILED
    assert 20_000 < graded.peak_kb < 400_000


def test_good_patch_is_one() -> None:
    """The patches above fail for what is wrong with them, not for what they are built on."""
    assert "csv_ledger/more.py" in apply_patch(the_task(TASK).base, GOOD.encode()).tree
