"""What people read of noise: never a contender of a placebo, never a sample of attempts made twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_agentgrade.cli import EXIT_GATE, EXIT_OK, main
from pytest_agentgrade.records.model import AttemptRecord
from tests.analysis.proven_records import OFF, a_full_attempt, a_server
from tests.stored_runs import store_run

Captured = pytest.CaptureFixture[str]
SEEDS = range(1, 9)
UB256 = (*OFF, "-ub", "256")
PLACEBO = {
    "baseline": {"server_args": list(OFF)},
    "ub256": {"server_args": list(UB256), "placebo_of": "baseline"},
    "mtp": {"server_args": []},
}


def attempts(mode: str, works: str, **options: object) -> list[AttemptRecord]:
    """One attempt for each character, ``+`` works; four seeds of each of two tasks."""
    return [
        a_full_attempt(mode, 10 if mark == "+" else 1, seed=1 + place % 4, task="ab"[place // 4], **options)  # type: ignore[arg-type]
        for place, mark in enumerate(works)
    ]


def said(capsys: Captured, *arguments: str | Path, code: int = EXIT_OK) -> str:
    assert main(["compare", *map(str, arguments)]) == code
    return " ".join(capsys.readouterr().out.split())


def placebo_run(folder: Path, placebo: str, mtp: str = "++++++++") -> Path:
    records = [*attempts("baseline", "++++----"), *attempts("ub256", placebo, server=a_server(UB256))]
    return store_run(folder, [*records, *attempts("mtp", mtp)], modes=PLACEBO)


def test_a_difference_within_the_noise_is_said_to_be_so(tmp_path: Path, capsys: Captured) -> None:
    run = store_run(tmp_path / "r", [*attempts("baseline", "+-+-+-+-"), *attempts("mtp", "++++-+--")])
    text = said(capsys, run)
    assert "No evidence that mtp or baseline delivers more working patches: mtp 5 of 8, baseline 4 of 8" in text
    assert "Noise floor: eight pairs of nothing but chance stay within 50 points 95 times in 100" in text
    assert "the observed +12 points are not larger than that." in text
    assert "come out differently in 46 % of 24 cases: 50 points." in text


def test_a_difference_beyond_the_noise_is_no_evidence_by_itself(tmp_path: Path, capsys: Captured) -> None:
    run = store_run(tmp_path / "r", [*attempts("baseline", "+++-----"), *attempts("mtp", "++++++++")])
    text = said(capsys, run)
    assert "No evidence that mtp or baseline delivers more" in text
    assert "the observed +62 points are larger than that, which the test does not yet take for evidence." in text


def test_a_winner_beyond_the_noise_and_one_within_it(tmp_path: Path, capsys: Captured) -> None:
    clear = store_run(tmp_path / "clear", [*attempts("baseline", "--------"), *attempts("mtp", "++++++++")])
    assert "the observed +100 points are larger than that." in said(capsys, clear)
    noisy = placebo_run(tmp_path / "noisy", "----++++", mtp="++++++++")
    assert "No evidence" in said(capsys, noisy)


def test_one_seed_measures_no_noise(tmp_path: Path, capsys: Captured) -> None:
    text = said(capsys, store_run(tmp_path / "r", [a_full_attempt("baseline"), a_full_attempt("mtp")]))
    assert "Noise floor: not known. It takes attempts at one task with several seeds or --agent-repeat" in text


def test_a_placebo_is_reported_as_one(tmp_path: Path, capsys: Captured) -> None:
    text = said(capsys, placebo_run(tmp_path / "r", "+++-+---"))
    assert "ub256 against" not in text and "Holm" not in text
    assert "from the placebo ub256, which differs from baseline in 25 % of eight pairs (with so few, 30 % is" in text
    assert "ub256, a placebo of baseline: ub256 changes numerics only: it measures noise and is no contender." in text
    assert "No evidence that it differs, as it should be: ub256 4 of 8, baseline 4 of 8" in text
    assert "in 2 of 8 pairs exactly one works" in text and "warning" not in text


def test_a_placebo_that_differs_is_a_warning(tmp_path: Path, capsys: Captured) -> None:
    records = [*attempts("baseline", "++++++++"), *attempts("ub256", "-" * 8, server=a_server(UB256))]
    text = said(capsys, store_run(tmp_path / "r", records, modes=PLACEBO))
    assert "It differs: ub256 0 of 8, baseline 8 of 8 (exact McNemar p = 0.008)" in text
    assert "A placebo that differs is a warning" in text and "delivers more" not in text


def test_gates_know_the_noise_floor_and_the_placebo(tmp_path: Path, capsys: Captured) -> None:
    run = placebo_run(tmp_path / "r", "+++-+---")
    gates = ("--fail-if", "mtp.difference < -mtp.noise_floor", "--fail-if", "ub256.p < 0.05")
    said(capsys, run, *gates)
    said(capsys, run, "--fail-if", "mtp.difference > mtp.noise_floor / 2", code=EXIT_GATE)


def test_the_same_mode_and_seed_twice_is_a_determinism_test(tmp_path: Path, capsys: Captured) -> None:
    runs = [store_run(tmp_path / name, attempts("baseline", "++++----"), created_at=n) for n, name in enumerate("ab")]
    text = said(capsys, *runs)
    assert "Determinism: eight attempts of baseline made twice with the same seed: 8 of 8 left the same" in text
    assert "That is a test of the server, not a sample: they count once." in text
    assert "No evidence" not in text and "Pairs:" not in text


def test_made_twice_under_other_conditions_is_a_test_of_nothing(tmp_path: Path, capsys: Captured) -> None:
    runs = [
        store_run(tmp_path / name, attempts("baseline", "++++----", image_id=name), created_at=n)
        for n, name in enumerate("ab")
    ]
    text = said(capsys, *runs)
    assert "Eight attempts of baseline made twice, but not under the same conditions (sandbox image)" in text
    assert "Determinism:" not in text


def test_one_mode_under_two_names_is_no_comparison(tmp_path: Path, capsys: Captured) -> None:
    again = attempts("again", "++++---+", server=a_server(OFF))
    text = said(capsys, store_run(tmp_path / "r", [*attempts("baseline", "++++----"), *again]))
    assert "made twice with the same seed, as again which is the same mode: 8 of 8 left the same" in text
    assert "7 of 8 passed as many checks" in text and "again against baseline" not in text


def test_a_mode_alone_is_told_what_another_would_have_to_exceed(tmp_path: Path, capsys: Captured) -> None:
    text = said(capsys, store_run(tmp_path / "r", attempts("mtp", "+-+-+-+-")))
    assert "Noise floor: against another mode eight pairs would stay within 50 points 95 times in 100" in text


def test_json_says_the_same(tmp_path: Path, capsys: Captured) -> None:
    run = placebo_run(tmp_path / "r", "+++-+---", mtp="++++-+--")
    assert main(["compare", str(run), "--format", "json"]) == EXIT_OK
    report = json.loads(capsys.readouterr().out)
    assert {mode["mode"]: mode["placebo_of"] for mode in report["modes"]}["ub256"] == "baseline"
    (comparison,), (placebo,) = report["comparisons"], report["placebos"]
    assert [floor["source"]["kind"] for floor in comparison["noise"]] == ["repeats", "placebo"]
    assert comparison["noise"][0]["exceeded"] is False and comparison["verdict"][1].startswith("Noise floor:")
    assert placebo["second"] == "ub256" and placebo["figures"]["counts"]["second_only"] == 1
    assert report["made_twice"] == []


def test_a_junit_file_knows_the_placebo_as_well(tmp_path: Path, capsys: Captured) -> None:
    run, xml = placebo_run(tmp_path / "r", "+++-+---"), tmp_path / "r.xml"
    from_folder = said(capsys, run, "-o", xml).partition("mtp against baseline")[2].partition("records:")[0]
    from_file = said(capsys, xml).partition("mtp against baseline")[2].partition("records:")[0]
    assert from_file == from_folder and "ub256, a placebo of baseline" in from_file


def speeds_run(folder: Path, seeds: range = range(1, 5)) -> Path:
    """Speeds that scatter by a few per cent; mtp is half as fast again, the placebo as fast as its mode."""
    speed = {"baseline": 40, "ub256": 40, "mtp": 60}
    records = [
        a_full_attempt(
            mode, 10 if seed % 2 or task == "a" else 1, seed=seed, task=task,
            server=a_server(UB256) if mode == "ub256" else None,
            predicted_tokens=speed[mode] * 100 + (seed * 7 + len(mode)) % 5 * 20, predicted_seconds=100.0,
        )
        for seed in seeds for task in "ab" for mode in speed
    ]  # fmt: skip
    return store_run(folder, records, modes=PLACEBO)


def test_the_noise_of_speeds_and_rates_is_told(tmp_path: Path, capsys: Captured) -> None:
    run = speeds_run(tmp_path / "r")
    text = said(capsys, run)
    assert "Noise of tok/s: eight pairs of nothing but chance stay within 1.01 times 95 times in 100; the" in text
    assert (
        "observed 1.50 times (mean of the pairs' ratios) is beyond that; ub256 runs 1.00 times as fast as baseline."
        in text
    )
    assert "Noise of patches per hour: from one seed or repeat to the next baseline 18.0 to 36.0 (2.00 times)," in text
    assert "mtp 18.0 to 36.0 (2.00 times); ub256 delivers 1.00 times as many as baseline." in text
    assert main(["compare", str(run), "--format", "json"]) == EXIT_OK
    (comparison,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert comparison["speed_noise"]["exceeded"] is True and comparison["speed_noise"]["independent"] == 12
    assert comparison["rate_noise"]["spreads"][0] == {"mode": "baseline", "draws": 4, "low": 18.0, "high": 36.0}


def test_too_little_for_the_noise_of_speeds_is_said_to_be_so(tmp_path: Path, capsys: Captured) -> None:
    records = [a_full_attempt(mode, 1, seed=seed) for mode in ("baseline", "mtp") for seed in (1, 2)]
    text = said(capsys, store_run(tmp_path / "few", records))
    assert (
        "Noise of tok/s: too few attempts of one mode at one task for more than the observed 1.00 times (mean of"
        in text
    )
    assert "Noise of patches per hour: too few attempts or working patches for a spread from seed to seed." in text
    single = said(capsys, store_run(tmp_path / "one", [a_full_attempt("baseline"), a_full_attempt("mtp")]))
    assert "Noise of" not in single


def test_cases_that_all_agree_leave_room_for_some_that_do_not(tmp_path: Path, capsys: Captured) -> None:
    run = store_run(tmp_path / "r", [*attempts("baseline", "++++----"), *attempts("mtp", "++++----")])
    assert "differently in 0 % of 24 cases (with so few, 7 % is reckoned with): 25 points." in said(capsys, run)


def test_patches_made_elsewhere_show_no_noise(tmp_path: Path, capsys: Captured) -> None:
    def given(mode: str) -> list[AttemptRecord]:
        """The same patch for each seed, as a file for all of them gives it."""
        found = []
        for record in attempts(mode, "++++----"):
            assert record.submission is not None
            submission = record.submission.model_copy(update={"origin": "patch"})
            found.append(record.model_copy(update={"submission": submission, "agent": None, "server": None}))
        return found

    both = store_run(tmp_path / "both", [*given("baseline"), *given("mtp")], patches="patches")
    text = said(capsys, both)
    assert "No evidence that mtp or baseline delivers more" in text and "oise" not in text
    assert "oise" not in said(capsys, store_run(tmp_path / "one", given("mtp"), patches="patches"))
    assert main(["compare", str(both), "--format", "json"]) == EXIT_OK
    report = json.loads(capsys.readouterr().out)
    assert [mode["repeats"] for mode in report["modes"]] == [None, None]
    assert report["comparisons"][0]["noise"] == []
