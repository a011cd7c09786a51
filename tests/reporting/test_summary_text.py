from __future__ import annotations

from pytest_agentgrade.reporting.page import TableRow
from pytest_agentgrade.reporting.summary_text import summary_lines
from tests.records_made_here import a_key, a_run, a_verdict, an_agent, an_attempt


def both_modes() -> list[str]:
    records = [
        an_attempt(a_key("baseline"), agent=an_agent(seconds=200.0, drafts=(0, 0))),
        an_attempt(a_key("mtp"), passed=1, agent=an_agent(generation=50.0, drafts=(200, 150)), endings=["task_clock"]),
        an_attempt(a_key("mtp", 7), fault="host"),
    ]
    return summary_lines(a_run(records), records)


def test_each_mode_has_its_figures() -> None:
    rows = [line.split() for line in both_modes()]
    assert ["baseline", "1", "1/1", "10/10", "36.0", "200.0", "s", "18.0"] in rows
    assert ["mtp", "1", "of", "2", "0/1", "1/10", "72.0", "-", "0.0"] in rows
    assert ["mtp", "0", "0", "1", "0"] in rows, "the task clock was met once"


def test_what_is_not_counted_is_said() -> None:
    assert "mtp: not counted: 1 ended by a fault that is not the model's." in both_modes()


def test_faults_are_told_with_the_attempts_they_ended() -> None:
    assert "t[mtp-7]: fault of the host: no disk" in both_modes()


def test_a_check_without_a_verdict_is_told() -> None:
    record = an_attempt()
    broken = record.verdicts[3].model_copy(update={"outcome": "error", "reason": "NameError: x\nmore"})
    records = [record.model_copy(update={"verdicts": [*record.verdicts[:3], broken, *record.verdicts[4:]]})]
    assert "t[mtp-4242] test_check_3 gave no verdict: NameError: x" in summary_lines(a_run(records), records)


def test_a_live_abort_is_flagged_with_what_it_does_to_the_figures() -> None:
    watched = an_agent().model_copy(update={"abort_loops": True})
    records = [an_attempt(a_key(seed=seed), agent=watched, endings=["loop_aborted"] * (seed < 3)) for seed in range(4)]
    (note,) = [line for line in summary_lines(a_run(records), records) if "abort" in line]
    assert note.startswith("Live abort of loops was on: 3 attempts cut by it. Their times and token counts are lower ")
    (note,) = [line for line in summary_lines(a_run(records[3:]), records[3:]) if "abort" in line]
    assert note == "Live abort of loops was on: no attempt was cut by it."
    assert not any("abort" in line for line in both_modes())


def test_the_matrix_has_a_row_for_each_check_and_a_total() -> None:
    lines = [line.split() for line in both_modes()]
    head = lines.index(["t", "baseline", "mtp", "mtp"])
    assert lines[head + 1] == ["4242", "7", "4242"], "mode above seed, seeds by size"
    assert ["check_0", ".", "."] in lines and ["check_1", ".", "F"] in lines
    assert ["total", "10/10", "-", "1/10"] in lines


def test_checks_beyond_the_prompt_stand_below_the_total() -> None:
    record = an_attempt()
    records = [record.model_copy(update={"verdicts": [*record.verdicts, a_verdict(0, "failed", beyond=True)]})]
    lines = summary_lines(a_run(records), records)
    place = lines.index("(beyond the prompt, not counted:)")
    assert lines[place - 1].split() == ["total", "10/10"] and lines[place + 1].split() == ["beyond_0", "F"]


def test_tables_fit_the_page_however_many_attempts_there_are() -> None:
    name = "test_" + "a_name_that_says_all_there_is_to_say" * 2
    record = an_attempt()
    verdicts = [record.verdicts[0].model_copy(update={"check": name}), *record.verdicts[1:]]
    records = [
        an_attempt(a_key(mode, seed)).model_copy(update={"verdicts": verdicts})
        for mode in ("baseline", "mtp")
        for seed in range(10_000_000, 10_000_008)
    ]
    for width in (60, 80, 100):
        rows = [line for line in summary_lines(a_run(records), records, width=width) if isinstance(line, TableRow)]
        assert max(map(len, rows)) <= width
    assert [line.count("10/10") for line in rows if line.startswith("total")] == [6, 6, 4], "tables below each other"


def test_budgets_are_named_where_there_are_several() -> None:
    records = [an_attempt(a_key(budget=budget)) for budget in (100, 200)]
    text = "\n".join(summary_lines(a_run(records), records))
    assert "mtp at 100" in text and "mtp at 200" in text


def test_markdown_is_a_table() -> None:
    records = [an_attempt()]
    lines = summary_lines(a_run(records), records, markdown=True)
    assert lines[2].startswith("| mode | attempts | working patches | checks passed | tok/s | time to patch | patches/")
    assert lines[3].startswith("| --- | ---: |")


def test_a_server_that_died_counts_and_is_told_beside() -> None:
    records = [an_attempt(a_key(seed=1)), an_attempt(a_key(seed=2), passed=1, endings=["server_died"])]
    text = " ".join("\n".join(summary_lines(a_run(records), records)).split())
    assert "mtp: the server died in 1 attempt, which count as they stand. Without them 1 of 1 left a working" in text


def test_a_lossy_mode_is_called_one() -> None:
    records = [an_attempt()]
    for lossless, said in ((False, True), (True, False)):
        lines = summary_lines(a_run(records, modes={"mtp": {"lossless": lossless}}), records)
        assert any("mtp is declared lossy" in line for line in lines) is said
