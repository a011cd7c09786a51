"""Settings and records as somebody may have written them: read, or an error of ours that says which file."""

from __future__ import annotations

import json
import unicodedata
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape as xml_escape

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentgrade.assignment.layers import Layer, read_file_layer
from pytest_agentgrade.assignment.settings import Settings, resolve
from pytest_agentgrade.errors import AgentGradeError, HostError, SettingsError
from pytest_agentgrade.escaping import escape, escape_bytes
from pytest_agentgrade.plan import AttemptKey
from pytest_agentgrade.records.junit_input import load_junit
from pytest_agentgrade.records.model import SubmissionPhase, VerdictRecord
from pytest_agentgrade.records.store import AttemptStore, RunStore
from tests.hostile.test_patches import UNSEEN

JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)
NAMES = st.one_of(st.sampled_from(sorted(Settings.model_fields)), st.text(max_size=6))
KEY = AttemptKey("csv_ledger", "a", 1, 0, 8192, "a-1")


@given(st.dictionaries(NAMES, JSON, max_size=5))
def test_any_settings_are_taken_or_explained(values: dict[str, Any]) -> None:
    try:
        settings = resolve([Layer("file", values)]).settings
    except SettingsError as error:
        assert "file" in str(error) or error.hint
        return
    # A run keeps its settings as JSON, and is judged again with them.
    assert Settings.model_validate(json.loads(settings.model_dump_json())) == settings


@given(st.one_of(st.binary(max_size=80), st.text(max_size=80).map(str.encode)))
def test_any_settings_file_is_read_or_explained(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "agentgrade.toml").write_bytes(data)
    with suppress(SettingsError):
        resolve([read_file_layer(tmp_path)])


def _harmless(char: str) -> bool:
    return char.isprintable() or char in "\n\t" or unicodedata.category(char) == "Zs"


@given(st.text(max_size=60), st.integers(1, 80), st.booleans())
def test_escaped_text_is_harmless_everywhere(text: str, limit: int, lines: bool) -> None:
    shown = escape(text, limit, keep_newlines=lines)
    assert UNSEEN.search(shown) is None and all(map(_harmless, shown))
    assert json.loads(json.dumps(shown)) == shown
    assert ElementTree.fromstring(f"<a>{xml_escape(shown)}</a>").text == (shown or None)


@given(st.binary(max_size=60))
def test_escaped_bytes_are_harmless_everywhere(data: bytes) -> None:
    assert UNSEEN.search(escape_bytes(data)) is None


@given(st.one_of(st.binary(max_size=60), JSON.map(lambda body: json.dumps(body).encode())))
def test_any_file_in_a_runs_folder_is_read_or_named(tmp_path: Path, data: bytes) -> None:
    for name in ("run.json", "4-submission.json", "submission.tar", "verdicts/test_x.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    store = AttemptStore(tmp_path, KEY)
    for read in (lambda: store.read(SubmissionPhase), store.read_submission, store.record, RunStore(tmp_path).run):
        with suppress(AgentGradeError):
            read()


@given(st.text(max_size=40), st.floats(), st.sampled_from(["passed", "failed", "error"]))
def test_a_verdict_comes_back_as_it_was(tmp_path: Path, reason: str, seconds: float, outcome: Any) -> None:
    store = AttemptStore(tmp_path, KEY)
    verdict = VerdictRecord(
        check="test_x",
        beyond=False,
        outcome=outcome,
        reason=escape(reason),
        seconds=abs(seconds),
        draw_n=0,
        draw_seed="a",
    )
    with suppress(HostError):
        store.write_verdict(verdict)
        assert store.record().verdicts == [verdict]


CASE = (
    '<testcase classname="hidden_checks.csv_ledger.test_csv_ledger" name="test_x[mtp-1]" time="{}">'
    '<properties><property name="agentgrade.{}" value="{}"/></properties>{}</testcase>'
)
PLAIN = st.text(st.characters(codec="ascii", exclude_characters='<>&"', min_codepoint=32), max_size=8)
CASES = st.builds(CASE.format, PLAIN, st.one_of(st.sampled_from(["run", "record", "response_tokens"]), PLAIN), PLAIN,
                  st.sampled_from(["", "<failure/>", "<error>x</error>", "<skipped/>", "<x/>"]))  # fmt: skip


@given(st.lists(st.one_of(CASES, PLAIN), max_size=4), st.sampled_from(["", "<!DOCTYPE a [<!ENTITY b 'c'>]>"]))
def test_any_junit_file_is_read_or_explained(tmp_path: Path, cases: list[str], head: str) -> None:
    path = tmp_path / "junit.xml"
    path.write_text(
        f"{head}<testsuites><testsuite name='x'>{''.join(cases)}</testsuite></testsuites>", encoding="utf-8"
    )
    with suppress(SettingsError):
        assert not head or not load_junit(path)
