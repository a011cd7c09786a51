"""What a judge's container holds and obeys, on a task made here; hostile candidates have a folder of their own."""

from __future__ import annotations

import secrets
from typing import Any

import docker

from pytest_agentgrade.checks import Candidate
from pytest_agentgrade.grading.judge import Judge
from pytest_agentgrade.grading.judged_tree import judged_tree
from pytest_agentgrade.grading.session import Limits
from pytest_agentgrade.grading.verdict import Outcome
from pytest_agentgrade.sandbox.image import Image
from pytest_agentgrade.sandbox.owner import Owner

from . import toy

LINGERING = """
import os, time
for _ in range(10):
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
        os._exit(0)
total = parse = Stamps = lambda *a: time.sleep(600)
"""


def outcomes(judge: Judge, source: str) -> list[Outcome]:
    task = toy.make_task()
    tree, _ = judged_tree(task, toy.tree(source.encode()))
    return [judge.run(check, task, tree, toy.draw(check)).outcome for check in toy.CHECKS]


def test_right_solution_passes_and_untouched_one_fails(judge: Judge) -> None:
    assert outcomes(judge, toy.RIGHT) == [Outcome.PASSED] * 3
    assert outcomes(judge, toy.UNTOUCHED) == [Outcome.FAILED] * 3


def test_nothing_is_left_behind(client: docker.DockerClient, image: Image) -> None:
    run_id = f"grading-tests-{secrets.token_hex(4)}"
    with Judge(client, image, Owner.current(), run_id, limits=Limits(question=1.0)) as judge:
        judge.prestart(2)
        assert outcomes(judge, LINGERING) == [Outcome.FAILED] * 3
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
