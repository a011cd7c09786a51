"""No hostile candidate gets past a check, hurts the host, or leaves anything behind."""

from __future__ import annotations

import resource
import secrets
import time
from typing import Any

import docker
import pytest

from pytest_agentgrade.checks import Candidate
from pytest_agentgrade.grading.judge import Judge
from pytest_agentgrade.grading.judged_tree import judged_tree
from pytest_agentgrade.grading.session import Limits
from pytest_agentgrade.grading.verdict import Outcome, Verdict
from pytest_agentgrade.sandbox.image import Image
from pytest_agentgrade.sandbox.owner import Owner

from . import toy
from .hostile import HOSTILE, SLOW


def verdicts(judge: Judge, source: str) -> list[Verdict]:
    task = toy.make_task()
    data = source.encode("latin-1") if "\xff" in source else source.encode()
    tree, _ = judged_tree(task, toy.tree(data))
    return [judge.run(check, task, tree, toy.draw(check)) for check in toy.CHECKS]


def outcomes(judge: Judge, source: str) -> list[Outcome]:
    return [verdict.outcome for verdict in verdicts(judge, source)]


def test_right_solution_passes_and_untouched_one_fails(judge: Judge) -> None:
    assert outcomes(judge, toy.RIGHT) == [Outcome.PASSED] * 3
    assert outcomes(judge, toy.UNTOUCHED) == [Outcome.FAILED] * 3


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_candidate_fails_every_check(impatient_judge: Judge, name: str) -> None:
    for verdict in verdicts(impatient_judge, HOSTILE[name]):
        assert verdict.outcome is Outcome.FAILED, verdict
        assert verdict.reason.isprintable() or "\n" in verdict.reason


@pytest.mark.parametrize("name", SLOW)
def test_candidate_that_runs_into_a_limit_fails_in_time(impatient_judge: Judge, name: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    check = toy.CHECKS[2]
    tree, _ = judged_tree(toy.make_task(), toy.tree(SLOW[name]))
    started = time.monotonic()
    verdict = impatient_judge.run(check, toy.make_task(), tree, toy.draw(check))
    assert verdict.outcome is Outcome.FAILED, verdict
    assert time.monotonic() - started < 100
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_nothing_is_left_behind(client: docker.DockerClient, image: Image) -> None:
    run_id = f"grading-tests-{secrets.token_hex(4)}"
    with Judge(client, image, Owner.current(), run_id, limits=Limits(question=1.0)) as judge:
        judge.prestart(2)
        verdicts(judge, SLOW["lingering_children"])
        assert containers_of(client, run_id) != []
    assert containers_of(client, run_id) == []


def containers_of(client: docker.DockerClient, run_id: str) -> list[str]:
    api: Any = client.api
    return [item["Id"] for item in api.containers(all=True) if run_id in item["Labels"].values()]


PROBE = """
import gc, os, sys
def probe():
    files = [f"/proc/{pid}/{what}" for pid in ("self", "1") for what in ("cmdline", "environ", "mountinfo")]
    seen = [open(name, "rb").read() for name in files if os.access(name, os.R_OK)]
    seen += [str(vars(m)).encode() for m in list(sys.modules.values()) if m.__name__ == "__main__"]
    seen += [o.encode("utf-8", "replace") for o in gc.get_objects() if type(o) is str]
    for o in gc.get_objects():
        if type(o) is dict:
            seen += [k.encode("utf-8", "replace") for k in list(o) if type(k) is str]
    return b" ".join(seen)
def cage():
    import socket
    found = []
    if os.path.exists("/var/run/docker.sock"): found.append("docker socket")
    if os.getuid() == 0: found.append("root")
    if any(name != "lo" for _, name in socket.if_nameindex()): found.append("network")
    if "CapEff:\\t0000000000000000" not in open("/proc/self/status").read(): found.append("capabilities")
    for path in ("/etc/x", "/usr/x", "/x", "/proc/sys/kernel/x"):
        try: open(path, "w"); found.append(path)
        except OSError: pass
    return found
"""


def test_container_knows_nothing_of_the_check(judge: Judge) -> None:
    def check_with_a_telling_name(candidate: Candidate) -> None:
        expected = candidate.draw.text(30, 30)
        seen = candidate.call("toy:probe").expect(bytes)
        for word in ("telling_name", expected, "hidden_checks", "grading-tests", "AGENTGRADE_RUN"):
            assert word.encode() not in seen
        assert b"toy" in seen

    check = toy.as_check(check_with_a_telling_name)
    verdict = judge.run(check, toy.make_task(), toy.tree(PROBE), toy.draw(check))
    assert verdict.outcome is Outcome.PASSED, verdict.reason


def test_cage_is_shut(judge: Judge) -> None:
    with judge.open(toy.make_task(), toy.tree(PROBE), 1) as candidate:
        assert candidate.call("toy:cage") == []


def test_candidate_cannot_shadow_modules_or_protected_errors(judge: Judge) -> None:
    changed = toy.tree(toy.RIGHT).with_files(
        {
            name: toy.tree("raise SystemExit").files["toy/__init__.py"]
            for name in ("json.py", "toy/errors.py", "sqlite3.py")
        }
    )
    task = toy.make_task()
    tree, ignored = judged_tree(task, changed)
    assert ignored == ("json.py", "sqlite3.py", "toy/errors.py")
    for check in toy.CHECKS:
        assert judge.run(check, task, tree, toy.draw(check)).outcome is Outcome.PASSED
