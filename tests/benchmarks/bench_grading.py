"""Ten checks of a right solution against ten bare hardened containers, in the same run.

    python -m tests.benchmarks.bench_grading [--rounds 5] [--task sqlite_transfers]

Prints the median ratio of the time that judging ten checks takes to the time of ten `docker run --rm ... python3 -c
pass` with the same limits, one after the other (*bare*); *engine* is the same through the engine's API, without the
start of a client program for each. *cold*: nothing is started when the time begins, all is removed when it ends.
*ahead*: ten containers wait, the time ends with the last verdict. *work*: what the checks themselves do, measured with
plain local processes that wait (no container at all); some tasks' checks wait on purpose or move 80 MB.
"""

from __future__ import annotations

import argparse
import dataclasses
import secrets
import statistics
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import docker

from pytest_agentgrade.assignment.catalog import load_tasks
from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.grading.candidate import Candidate
from pytest_agentgrade.grading.docker_transport import judge_spec
from pytest_agentgrade.grading.draws import ChosenDraw, choose_draws
from pytest_agentgrade.grading.judge import Judge
from pytest_agentgrade.grading.local import LocalTransport
from pytest_agentgrade.grading.solutions import reference_tree
from pytest_agentgrade.grading.suite import Check, load_checks
from pytest_agentgrade.grading.verdict import Outcome
from pytest_agentgrade.sandbox.container import USER, Container
from pytest_agentgrade.sandbox.engine import connect
from pytest_agentgrade.sandbox.image import Image, ensure_image
from pytest_agentgrade.sandbox.owner import Owner

Drawn = list[tuple[Check, ChosenDraw]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--task", default="sqlite_transfers")
    options = parser.parse_args()
    task = load_tasks(Settings.model_validate({}), Path.cwd(), [options.task])[0]
    key = secrets.token_bytes(32)
    checks = [check for check in load_checks(task) if not check.beyond]
    drawn = list(zip(checks, choose_draws(checks, task, key), strict=True))
    client = connect()
    with closing(client):
        image = ensure_image(client)
        rounds = [_round(client, image, task, drawn) for _ in range(options.rounds)]
    for name in ("bare", "engine", "cold", "ahead", "work"):
        seconds = [one[name] for one in rounds]
        ratio = statistics.median(one[name] / one["bare"] for one in rounds)
        print(f"{name:6} {statistics.median(seconds):6.2f} s  {ratio:5.2f} of ten bare containers")


def _round(client: docker.DockerClient, image: Image, task: Task, drawn: Drawn) -> dict[str, float]:
    with Judge(client, image, Owner.current(), "bench") as judge:
        return {
            "bare": _timed(lambda: _bare(image)),
            "engine": _timed(lambda: _engine(client, image)),
            "cold": _timed(lambda: _cold(judge, task, drawn)),
            "ahead": _ahead(judge, task, drawn),
            "work": _work(task, drawn),
        }


def _ahead(judge: Judge, task: Task, drawn: Drawn) -> float:
    judge.prestart(len(drawn))
    judge.settle()
    seconds = _timed(lambda: _judge(judge, task, drawn))
    judge.settle()
    return seconds


def _cold(judge: Judge, task: Task, drawn: Drawn) -> None:
    judge.prestart(len(drawn))
    _judge(judge, task, drawn)
    judge.settle()


def _judge(judge: Judge, task: Task, drawn: Drawn) -> None:
    tree = reference_tree(task)
    for check, draw in drawn:
        verdict = judge.run(check, task, tree, draw)
        assert verdict.outcome is Outcome.PASSED, verdict


def _work(task: Task, drawn: Drawn) -> float:
    tree = reference_tree(task)
    seconds = 0.0
    for check, draw in drawn:
        transport = LocalTransport()
        time.sleep(0.2)
        started = time.perf_counter()
        with Candidate(transport, task, tree, draw.seed) as candidate:
            check.function(candidate)
        seconds += time.perf_counter() - started
        transport.close()
    return seconds


def _bare(image: Image) -> None:
    shape = judge_spec(image)
    arguments = [
        "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", f"--user={USER}",
        f"--memory={shape.memory_bytes}", f"--memory-swap={shape.memory_bytes}", f"--pids-limit={shape.pids}",
        f"--cpus={shape.cpus}", f"--ulimit=nofile={shape.open_files}", "--ulimit=core=0", "--oom-score-adj=500",
        f"--shm-size={shape.shm_bytes}", "--log-driver=none", "--init", "--pull=never", f"--workdir={shape.workdir}",
        *(f"--tmpfs={item.path}:{item.options()}" for item in shape.tmpfs),
        *(f"--env={name}={value}" for name, value in shape.env.items()),
    ]  # fmt: skip
    for _ in range(10):
        subprocess.run(["docker", "run", "--rm", *arguments, image.id, "python3", "-c", "pass"], check=True)


def _engine(client: docker.DockerClient, image: Image) -> None:
    shape = judge_spec(image)
    spec = dataclasses.replace(shape, command=("python3", "-c", "pass"), role="bench", stdin=False)
    for _ in range(10):
        with Container.start(client, spec, Owner.current(), "bench") as container:
            assert container.wait(60.0)


def _timed(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
