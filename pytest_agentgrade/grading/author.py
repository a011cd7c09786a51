"""For task authors: does every check tell right from wrong? ``python -m pytest_agentgrade.grading.author TASK``."""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

from pytest_agentgrade.assignment.catalog import load_tasks
from pytest_agentgrade.assignment.settings import Settings
from pytest_agentgrade.assignment.task import Task
from pytest_agentgrade.errors import AgentGradeError
from pytest_agentgrade.grading.draws import WORKERS, ChosenDraw, choose_draw, choose_draws, try_tree
from pytest_agentgrade.grading.solutions import REFERENCE, UNTOUCHED, solution_tree, wrong_names, wrong_solution
from pytest_agentgrade.grading.suite import COUNTED, Check, load_checks
from pytest_agentgrade.grading.verdict import Outcome, Verdict
from pytest_agentgrade.submission.tree import Tree, TreeFile

Trial = Callable[[Check, Tree, ChosenDraw], Verdict]
Row = dict[str, list[Verdict]]
"""Verdicts of one solution by check, one for each draw."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the matrix and what is wrong with the task; 1 if anything is."""
    options = _parser().parse_args(arguments)
    try:
        task = load_tasks(Settings.model_validate({}), Path.cwd(), [options.task])[0]
        checks = load_checks(task)
        wanted = [check for check in checks if not options.check or check.name in options.check]
        if options.tree:
            return _show_tree(task, wanted, options)
        return _show_matrix(task, checks, wanted, options)
    except AgentGradeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pytest_agentgrade.grading.author", description=__doc__)
    parser.add_argument("task", help="name of a task")
    parser.add_argument("--draws", type=int, default=25, help="fresh draws for reference and untouched (default 25)")
    parser.add_argument("--wrong-draws", type=int, default=2, help="draws for each wrong solution (default 2)")
    parser.add_argument("--wrong", action="append", metavar="NAME", help="only this wrong solution (repeatable)")
    parser.add_argument("--check", action="append", metavar="NAME", help="only this check (repeatable)")
    parser.add_argument("--tree", type=Path, metavar="DIR", help="judge the files of a folder instead")
    parser.add_argument("--docker", action="store_true", help="in containers, as in earnest")
    return parser


def _show_tree(task: Task, checks: Sequence[Check], options: argparse.Namespace) -> int:
    files = {
        path.relative_to(options.tree).as_posix(): TreeFile(path.read_bytes())
        for path in sorted(options.tree.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    tree = task.base.with_files({path: file for path, file in files.items() if task.is_editable(path)})
    failures = 0
    with _trial(task, options.docker) as trial:
        for check in checks:
            verdict = trial(check, tree, choose_draw(check, task, secrets.token_bytes(32)))
            failures += verdict.outcome is not Outcome.PASSED
            print(f"{verdict.outcome.value:7} {check.name} ({verdict.seconds:.2f} s) {verdict.reason}")
    return int(failures > 0)


def _show_matrix(task: Task, checks: Sequence[Check], wanted: Sequence[Check], options: argparse.Namespace) -> int:
    names = options.wrong or [REFERENCE, UNTOUCHED, *wrong_names(task)]
    started = time.monotonic()
    draws = _choose(task, wanted, max(options.draws, options.wrong_draws))
    print(f"{len(draws)} x {len(wanted)} draws chosen in {time.monotonic() - started:.1f} s")
    broken = list(_head_faults(task, checks, names))
    with _trial(task, options.docker) as trial:
        for name in names:
            count = options.draws if name in (REFERENCE, UNTOUCHED) else options.wrong_draws
            row = _row(trial, wanted, solution_tree(task, name), draws[:count])
            _print_row(name, wanted, row)
            broken += _row_faults(task, name, wanted, row)
    for fault in broken:
        print(f"BROKEN: {fault}")
    print(f"{len(broken)} rules broken, {time.monotonic() - started:.0f} s")
    return int(bool(broken))


def _choose(task: Task, checks: Sequence[Check], count: int) -> list[dict[str, ChosenDraw]]:
    chosen = []
    for _ in range(count):
        key = secrets.token_bytes(32)
        chosen.append({draw.check: draw for draw in choose_draws(checks, task, key)})
    return chosen


def _row(trial: Trial, checks: Sequence[Check], tree: Tree, draws: Sequence[dict[str, ChosenDraw]]) -> Row:
    jobs = [(check, draw[check.name]) for draw in draws for check in checks]
    with ThreadPoolExecutor(WORKERS) as workers:
        verdicts = list(workers.map(lambda job: trial(job[0], tree, job[1]), jobs))
    row: Row = {check.name: [] for check in checks}
    for (check, _), verdict in zip(jobs, verdicts, strict=True):
        row[check.name].append(verdict)
    return row


def _print_row(name: str, checks: Sequence[Check], row: Row) -> None:
    passes = [sum(verdict.outcome is Outcome.PASSED for verdict in row[check.name]) for check in checks]
    total = len(row[checks[0].name])
    shown = " ".join(f"{count:>2}{'*' if check.beyond else ' '}" for check, count in zip(checks, passes, strict=True))
    print(f"{name:40} passes of {total}: {shown}")


def _head_faults(task: Task, checks: Sequence[Check], names: Sequence[str]) -> Iterator[str]:
    counted = {check.name for check in checks if not check.beyond}
    killed_alone: set[str] = set()
    for name in wrong_names(task):
        kills = wrong_solution(task, name).kills
        if unknown := set(kills) - counted:
            yield f"wrong/{name}.diff: `# kills:` names {', '.join(sorted(unknown))}, not among the ten"
        killed_alone |= set(kills) if len(kills) == 1 else set()
    for check in sorted(counted - killed_alone):
        yield f"no wrong solution fails {check} alone"
    if REFERENCE in names and len(wrong_names(task)) < 12:
        yield f"only {len(wrong_names(task))} wrong solutions, 12 are wanted"


def _row_faults(task: Task, name: str, checks: Sequence[Check], row: Row) -> Iterator[str]:
    for check in checks:
        for verdict in row[check.name]:
            if verdict.outcome is Outcome.ERROR:
                yield f"{check.name} breaks on {name}: {verdict.reason}"
    counted = [check.name for check in checks if not check.beyond]
    passed = [frozenset(check for check in counted if _passed(row, check, n)) for n in range(len(row[counted[0]]))]
    if name == UNTOUCHED and len(counted) == COUNTED and len(passed[0]) != 1:
        yield f"untouched passes {len(passed[0])} checks, must pass exactly one"
    expected = _expected(task, name, counted, passed)
    for n, found in enumerate(passed):
        if found != expected:
            yield f"{name}, draw {n}: {_difference(found, expected, row, n)}"


def _expected(task: Task, name: str, counted: Sequence[str], passed: Sequence[frozenset[str]]) -> frozenset[str]:
    if name == REFERENCE:
        return frozenset(counted)
    if name != UNTOUCHED:
        return frozenset(counted) - set(wrong_solution(task, name).kills)
    return passed[0]


def _passed(row: Row, check: str, n: int) -> bool:
    return row[check][n].outcome is Outcome.PASSED


def _difference(found: frozenset[str], expected: frozenset[str], row: Row, n: int) -> str:
    more, less = sorted(found - expected), sorted(expected - found)
    parts = [f"passes {', '.join(more)}"] if more else []
    parts += [f"fails {check} ({row[check][n].reason})" for check in less]
    return "; ".join(parts)


@contextmanager
def _trial(task: Task, docker: bool) -> Generator[Trial, None, None]:
    """Where solutions run: local processes, or containers as in earnest."""
    if not docker:
        yield lambda check, tree, draw: try_tree(check, task, tree, draw.n, draw.seed)
        return
    from pytest_agentgrade.grading.judge import Judge
    from pytest_agentgrade.sandbox.engine import connect
    from pytest_agentgrade.sandbox.image import ensure_image
    from pytest_agentgrade.sandbox.owner import Owner

    client = connect()
    with (
        closing(client),
        Judge(client, ensure_image(client), Owner.current(), f"author-{secrets.token_hex(4)}") as judge,
    ):
        yield lambda check, tree, draw: judge.run(check, task, tree, draw)


if __name__ == "__main__":
    sys.exit(main())
