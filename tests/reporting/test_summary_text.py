from __future__ import annotations

from pytest_agentgrade.reporting.summary_text import summary_lines
from tests.records_made_here import a_key, a_run, an_agent, an_attempt


def both_modes() -> list[str]:
    records = [
        an_attempt(a_key("baseline"), agent=an_agent(seconds=200.0, drafts=(0, 0))),
        an_attempt(a_key("mtp"), passed=1, agent=an_agent(generation=50.0, drafts=(200, 150)), endings=["task_clock"]),
        an_attempt(a_key("mtp", 7), fault="host"),
    ]
    return summary_lines(a_run(records), records)


def test_each_mode_has_its_figures() -> None:
    rows = [line.split() for line in both_modes()]
    assert ["baseline", "1", "1/1", "10/10", "36.0", "200.0", "s", "18.0", "-"] in rows
    assert ["mtp", "1", "of", "2", "0/1", "1/10", "72.0", "-", "0.0", "150/200", "(75%)"] in rows
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


def test_the_matrix_has_a_row_for_each_check_and_a_total() -> None:
    lines = [line.split() for line in both_modes()]
    assert ["t", "baseline-4242", "mtp-4242", "mtp-7"] in lines
    assert ["check_0", ".", "."] in lines and ["check_1", ".", "F"] in lines
    assert ["total", "10/10", "1/10", "-"] in lines


def test_budgets_are_named_where_there_are_several() -> None:
    records = [an_attempt(a_key(budget=budget)) for budget in (100, 200)]
    text = "\n".join(summary_lines(a_run(records), records))
    assert "mtp at 100" in text and "mtp at 200" in text


def test_markdown_is_a_table() -> None:
    records = [an_attempt()]
    lines = summary_lines(a_run(records), records, markdown=True)
    assert lines[2].startswith("| mode | attempts | working patches |") and lines[3].startswith("| --- | ---: |")
