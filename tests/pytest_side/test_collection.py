"""Which items there are, what they are called, and in which order they run."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.graded import PROJECT, QUIET_PLUGINS, TASKS, run_pytest

PATCH = """\
--- a/README.md
+++ b/README.md
@@ -0,0 +1 @@
+x
"""


def collected(folder: Path, *arguments: str) -> list[str]:
    done = run_pytest(folder, "--collect-only", "-q", *arguments)
    return [line for line in done.output.splitlines() if "::" in line]


def attempts(ids: list[str]) -> list[str]:
    """``task[label]`` of each group of consecutive checks of one attempt."""
    names = [f"{name.split('/')[1]}[{name.partition('[')[2]}" for name in ids]
    return [name for name, _ in itertools.groupby(names)]


@pytest.mark.parametrize("place", ["the repository", "an empty folder"])
def test_ids_are_the_same_everywhere(tmp_path: Path, place: str) -> None:
    folder = PROJECT if place == "the repository" else tmp_path
    ids = collected(folder, "--agent-mode=baseline,mtp", "--agent-order=by-seed", *QUIET_PLUGINS)
    assert len(ids) == len(set(ids)) and {name.split("/")[1] for name in ids} == set(TASKS)
    for name in ids:
        task = name.split("/")[1]
        assert name.startswith(f"hidden_checks/{task}/test_{task}.py::test_")
    assert attempts(ids) == [
        f"{task}[{mode}-{seed}]"
        for seed, modes in ((4242, ("baseline", "mtp")), (8675309, ("mtp", "baseline")))
        for task in TASKS
        for mode in modes
    ]
    assert not (tmp_path / "agentgrade-runs").exists()


def test_the_plan_decides_the_order_whatever_shuffles(tmp_path: Path) -> None:
    shuffled = collected(tmp_path, "--agent-mode=baseline,mtp", "-p", "randomly", "-p", "no:cacheprovider")
    straight = collected(tmp_path, "--agent-mode=baseline,mtp", *QUIET_PLUGINS)
    assert attempts(shuffled) == attempts(straight) and sorted(shuffled) == sorted(straight)


def test_factors_appear_in_the_ids_where_they_vary(tmp_path: Path) -> None:
    ids = collected(
        tmp_path, "--agent-mode=mtp", "--agent-task=csv_ledger", "--agent-seed=7", "--agent-repeat=2",
        "--agent-response-tokens=100,200", *QUIET_PLUGINS,
    )  # fmt: skip
    labels = ["mtp-7-b100", "mtp-7-b200", "mtp-7-r1-b100", "mtp-7-r1-b200"]
    assert attempts(ids) == [f"csv_ledger[{label}]" for label in labels]


def test_a_users_naming_rules_hide_no_check(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\npython_files = check_*.py\npython_functions = check_*\n")
    assert len(attempts(collected(tmp_path, "--agent-mode=mtp", "--agent-seed=1", *QUIET_PLUGINS))) == len(TASKS)


def test_a_users_own_tests_do_not_run_beside(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text("def test_mine():\n    pass\n")
    assert not [name for name in collected(tmp_path, "--agent-mode=mtp", *QUIET_PLUGINS) if "mine" in name]


def test_a_check_can_be_named_by_its_id_in_an_empty_folder(tmp_path: Path) -> None:
    first = collected(tmp_path, "--agent-mode=mtp", "--agent-seed=1", *QUIET_PLUGINS)[0]
    assert collected(tmp_path, "--agent-mode=mtp", "--agent-seed=1", first, *QUIET_PLUGINS) == [first]


def test_k_chooses(tmp_path: Path) -> None:
    ids = collected(tmp_path, "--agent-mode=baseline,mtp", "-k", "mtp and csv_ledger", *QUIET_PLUGINS)
    assert attempts(ids) == ["csv_ledger[mtp-4242]", "csv_ledger[mtp-8675309]"]


def test_patches_decide_which_tasks_there_are(tmp_path: Path) -> None:
    (tmp_path / "patches" / "mine").mkdir(parents=True)
    (tmp_path / "patches" / "csv_ledger.patch").write_text(PATCH)
    (tmp_path / "patches" / "mine" / "expiring_cache-8675309.diff").write_text(PATCH)
    ids = collected(tmp_path, "--agent-patches=patches", *QUIET_PLUGINS)
    assert attempts(ids) == ["csv_ledger[patches-4242]", "csv_ledger[patches-8675309]"]
    ids = collected(tmp_path, "--agent-patches=patches", "--agent-mode=mine", *QUIET_PLUGINS)
    assert attempts(ids) == ["csv_ledger[mine-4242]", "csv_ledger[mine-8675309]", "expiring_cache[mine-8675309]"]


def test_failed_checks_stand_in_the_matrix_and_the_summary_comes_last(tmp_path: Path) -> None:
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches" / "csv_ledger.patch").write_text("no patch at all\n")
    chosen = ("--agent-patches=patches", "--agent-seed=1", "-k", "plain_rows or exact_at", *QUIET_PLUGINS)
    calm = run_pytest(tmp_path, *chosen)
    assert "short test summary" not in calm.output and "    def test_" not in calm.output
    *_, records, how_to_go_on, _ = calm.output.splitlines()
    assert records.startswith("records: ") and how_to_go_on.startswith("not finished; to go on: ")
    refused = "csv_ledger[patches-1]: submission refused, fails every check: the patch holds text but no change"
    assert calm.output.count("submission refused") == 1 and refused in " ".join(calm.output.split())
    asked = run_pytest(tmp_path, *chosen, "-rf", "--tb=long")
    assert "short test summary" in asked.output and "submission refused" in asked.output
