"""Every hostile candidate through the whole of pytest, in real containers: what the grader concludes, what is left.

``AGENTGRADE_HOSTILE=all`` has all of them judged by all ten checks.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import docker
import pytest

from tests.graded import Graded, wait_for

from .campaign import ALL, Campaign, run_campaign, size_of
from .everyone import HOSTILE, PATIENTLY, QUICK, SLOW, UNTOUCHED, WHOLE
from .specimen import BASELINE, CODE, Conclusion, Specimen
from .test_patches import UNSEEN

MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory, client: docker.DockerClient) -> Campaign:
    return run_campaign(tmp_path_factory.mktemp("campaign"), client)


def by_name(specimens: list[Specimen]) -> Any:
    return pytest.mark.parametrize("specimen", specimens, ids=lambda one: f"{one.task}-{one.name}")


@by_name(HOSTILE)
def test_it_gets_no_more_than_the_untouched_workspace(campaign: Campaign, specimen: Specimen) -> None:
    record = campaign.record(specimen)
    assert record.fault is None and record.submission is not None
    assert record.complete or not (ALL or specimen in WHOLE)
    assert {verdict.outcome for verdict in record.verdicts} <= {"passed", "failed"}, "an error would not be counted"
    passed = {verdict.check for verdict in record.verdicts if verdict.outcome == "passed"}
    if specimen.is_text:
        assert record.submission.refused is None
        assert passed <= {BASELINE[specimen.task]}
        assert bool(passed) or specimen.concludes is not Conclusion.UNCHANGED, "honest extras must not disqualify"
        assert not passed or specimen.concludes is not Conclusion.BELOW
    else:
        assert passed == set() and re.search("'.+': binary changes", record.submission.refused or "")


@by_name(HOSTILE)
def test_the_reasons_are_plain_text_and_say_what_happened(campaign: Campaign, specimen: Specimen) -> None:
    reasons = [verdict.reason for verdict in campaign.record(specimen).verdicts if verdict.outcome == "failed"]
    assert reasons and all(reason.replace("\n", "").isprintable() for reason in reasons)
    if specimen.is_text:
        assert any(re.search(specimen.reason, reason) for reason in reasons), reasons


@by_name(SLOW)
def test_it_is_ended_in_time(campaign: Campaign, specimen: Specimen) -> None:
    assert max(verdict.seconds for verdict in campaign.record(specimen).verdicts) < 25


def test_one_that_hangs_is_ended_in_time_without_shortened_clocks(campaign: Campaign) -> None:
    (record,) = [record for name, record in campaign.quick.records.items() if PATIENTLY in name]
    (verdict,) = record.verdicts
    assert verdict.outcome == "failed" and "in time" in verdict.reason and 19 < verdict.seconds < 60


@pytest.fixture(params=["quick", "slow"])
def run(request: pytest.FixtureRequest, campaign: Campaign) -> Graded:
    found: Graded = getattr(campaign, request.param)
    return found


def test_the_run_goes_on_to_its_end(run: Graded) -> None:
    assert run.code == pytest.ExitCode.TESTS_FAILED
    assert UNSEEN.search(run.output) is None
    assert "records: " in run.output and not re.search(r"\d+ errors?\b", run.output.splitlines()[-1])


def test_junit_says_the_same(run: Graded) -> None:
    text = (run.folder / "junit.xml").read_text(encoding="utf-8")
    assert UNSEEN.search(text) is None
    root = ElementTree.fromstring(text)
    verdicts = [verdict for record in run.records.values() for verdict in record.verdicts]
    failed = sum(verdict.outcome == "failed" for verdict in verdicts)
    assert len(list(root.iter("testcase"))) == len(verdicts)
    assert (len(list(root.iter("failure"))), len(list(root.iter("error")))) == (failed, 0)


def test_memory_and_disk_stay_bounded(campaign: Campaign) -> None:
    """Floods of memory, files and output are among them."""
    assert 20_000 < max(campaign.quick.peak_kb, campaign.slow.peak_kb) < 400_000
    assert campaign.used.containers > 0 and campaign.used.layer_bytes < MEGABYTE
    assert campaign.used.temporary_bytes < 16 * MEGABYTE
    for run in (campaign.quick, campaign.slow):
        per_check = size_of(run.run.folder) / sum(len(record.verdicts) for record in run.records.values())
        assert per_check < MEGABYTE


def test_no_container_volume_or_file_is_left(campaign: Campaign, client: docker.DockerClient, run: Graded) -> None:
    wanted = {"label": f"agentgrade.run={run.run.run().run_id}"}
    assert client.containers.list(all=True, ignore_removed=True, filters=wanted) == []
    assert client.volumes.list(filters=wanted) == []
    left = {path.name for path in campaign.temporary.rglob("*") if path.is_file()}
    assert left <= {"clock.lock"}
    assert {path.name for path in run.folder.iterdir()} == {"patches", "junit.xml", "agentgrade-runs"}


def test_no_process_is_left(campaign: Campaign, client: docker.DockerClient) -> None:
    """Neither one in a container that is gone, nor one that the two runs started beside the containers."""
    assert campaign.quick.records
    assert wait_for(lambda: orphans(client) == [] and started_in(campaign.temporary) == [], 60)


def orphans(client: docker.DockerClient) -> list[str]:
    """Processes of the user of our containers in none that the engine knows."""
    api: Any = client.api
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if place.stat().st_uid == 65532:
                groups = (place / "cgroup").read_text()
                known = {one["Id"] for one in api.containers(all=True)}
                found += [] if any(one in groups for one in known) else [place.name]
    return found


def started_in(folder: Path) -> list[str]:
    """Processes that were given a temporary folder of ours."""
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            found += [place.parent.name] if f"TMPDIR={folder}".encode() in place.read_bytes() else []
    return found


def test_every_kind_is_there_and_every_task_is_attacked() -> None:
    names = [(one.task, one.name) for one in HOSTILE if one not in UNTOUCHED]
    assert len({name for _, name in names}) == len(names) > 150
    for task in BASELINE:
        assert sum(one.task == task for one in QUICK) > 15 and sum(one.task == task for one in HOSTILE) > 20
    assert set(CODE) == set(BASELINE)
