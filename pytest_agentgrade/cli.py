"""``agentgrade``: everything beside the run itself."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest_agentgrade
from pytest_agentgrade.errors import AgentGradeError, Fault, SettingsError
from pytest_agentgrade.reporting.output import FORMATS, deliver
from pytest_agentgrade.wording import counted

_RUN_HELP = "folder of a run, or its name below agentgrade-runs/"
_NEWEST = "baseline,mtp"
EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_GATE = 0, 1, 2, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    0: did its work, 1: something is amiss, 2: a call or a setting that cannot be followed, 3: a gate of ``compare``
    trips.
    """
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        code = command(options)
        sys.stdout.flush()
        return code
    except AgentGradeError as error:
        print(f"agentgrade: {error}", file=sys.stderr)
        return EXIT_USAGE if error.fault is Fault.USER else EXIT_FAILED
    except BrokenPipeError:
        # The reader of our output (head, less) has gone: that is its right.
        sys.stderr.close()
        return EXIT_FAILED
    except OSError as error:
        print(f"agentgrade: {error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left to be written cannot be either
        return EXIT_FAILED


def _parser() -> argparse.ArgumentParser:
    start = "A run is started with pytest: `pytest --agent-mode=baseline,mtp`; `pytest --help` lists its options."
    parser = argparse.ArgumentParser(prog="agentgrade", description=pytest_agentgrade.__doc__, epilog=start)
    parser.add_argument("--version", action="version", version=f"pytest-agentgrade {pytest_agentgrade.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")

    def command(name: str, text: str, more: str = "") -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}. {more}")

    more = "Safe to call again: it does what is still missing. An engine is installed on Debian and Ubuntu, by root."
    setup = command("setup", "install and start what a run needs: Docker engine, sandbox image", more)
    setup.add_argument("--agent", metavar="NAME", help="make the image of this agent as well, for example opencode")
    version = "version of that agent (default: the one that was tried here)"
    setup.add_argument("--agent-version", metavar="VERSION", help=version)
    setup.set_defaults(command=_setup)

    more = "Changes nothing. Exit code 1 when something is amiss; each line marked NO says what to do."
    doctor = command("doctor", "show whether a run would work here, and every setting with its source", more)
    doctor.add_argument("--mode", metavar="MODE,...", help="modes to look at (default: all that the settings know)")
    doctor.set_defaults(command=_doctor)

    report = command("report", "show the summary of a run: what pytest printed at its end")
    report.add_argument("run", type=Path, nargs="?", metavar="RUN", help=f"{_RUN_HELP} (default: the newest run)")
    _add_format(report)
    report.set_defaults(command=_report)

    more = "Exit code 3 when the answer to a --fail-if is yes, or not known."
    _add_compare(command("compare", "say which mode delivers more: one report of several runs", more))

    more = "Exit code 1 when a verdict differs; the old ones are kept beside the new ones."
    regrade = command("regrade", "judge the stored submissions of a run again, with the same inputs and no agent", more)
    regrade.add_argument("run", type=Path, metavar="RUN", help=_RUN_HELP)
    regrade.set_defaults(command=_regrade)
    return parser


def _add_compare(compare: argparse.ArgumentParser) -> None:
    inputs = f"{_RUN_HELP}, or a JUnit file; several make one report (default: the newest run of each mode)"
    compare.add_argument("runs", type=Path, nargs="*", metavar="RUN|JUNIT", help=inputs)
    modes = f"modes to look for when no RUN is given (default: {_NEWEST}, else those with runs); the first is what"
    modes += " others are compared with"
    compare.add_argument("--mode", metavar="MODE,...", help=modes)
    gate = "exit with 3 if so, such as 'mtp.success_rate < baseline.success_rate - 0.05'; may be given more than once"
    compare.add_argument("--fail-if", action="append", default=[], metavar="QUESTION", help=gate)
    _add_format(compare)
    compare.set_defaults(command=_compare)


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=FORMATS, help="default: what the name of FILE says, else text")
    output = "write FILE (.html, .md, .json, .csv, .txt); .xml is one JUnit file, suites by mode and task"
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help=output)


def _names(text: str) -> list[str]:
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise SettingsError(f"--mode={text} names no mode", "such as --mode=baseline,mtp")
    return names


def _setup(options: argparse.Namespace) -> int:
    from pytest_agentgrade.assignment.layers import read_file_layer
    from pytest_agentgrade.assignment.settings import resolve
    from pytest_agentgrade.attempt.agents.installing import build_agent_image
    from pytest_agentgrade.attempt.agents.packages import find_package
    from pytest_agentgrade.attempt.server.embedded_library import prepare_library
    from pytest_agentgrade.sandbox.engine import connect
    from pytest_agentgrade.sandbox.setup import run_setup

    if options.agent is None and options.agent_version is not None:
        raise SettingsError("--agent-version without --agent", "say which agent: --agent opencode, for example")
    package = None if options.agent is None else find_package(options.agent, options.agent_version)
    settings = resolve([read_file_layer(Path.cwd())]).settings
    run_setup(print, image=settings.image)
    prepare_library(print)
    if package is not None:
        client = connect()
        try:
            build_agent_image(client, package, print)
        finally:
            client.close()
    return EXIT_OK


def _doctor(options: argparse.Namespace) -> int:
    from pytest_agentgrade.diagnosis import diagnose

    lines, healthy = diagnose(Path.cwd(), None if options.mode is None else _names(options.mode))
    print("\n".join(lines))
    return EXIT_OK if healthy else EXIT_FAILED


def _report(options: argparse.Namespace) -> int:
    from pytest_agentgrade.records.finding import find_run, newest_run
    from pytest_agentgrade.reporting.page import page_width
    from pytest_agentgrade.reporting.several_runs import report_on

    rootdir = Path.cwd()
    run = newest_run(rootdir) if options.run is None else find_run(options.run, rootdir)
    deliver(report_on([run]), options.format, options.output, page_width())
    return EXIT_OK


def _compare(options: argparse.Namespace) -> int:
    from pytest_agentgrade.analysis.gate_figures import refuse_unknown_metrics
    from pytest_agentgrade.analysis.gates import parse_gate
    from pytest_agentgrade.records.finding import find_run, newest_runs, runs_to_compare
    from pytest_agentgrade.reporting.page import page_width
    from pytest_agentgrade.reporting.several_runs import report_on

    gates = [parse_gate(text) for text in options.fail_if]
    for gate in gates:
        refuse_unknown_metrics(gate)
    rootdir = Path.cwd()
    given = [find_run(run, rootdir) for run in options.runs]
    named = [] if options.mode is None else _names(options.mode)
    asked = [name for gate in gates for name in gate.names.values()]
    newest = newest_runs(rootdir, named) if named and not given else given
    paths = newest or runs_to_compare(rootdir, _names(_NEWEST), asked)
    report = report_on(paths, gates, named)
    deliver(report, options.format, options.output, page_width())
    return EXIT_GATE if report.tripped else EXIT_OK


def _regrade(options: argparse.Namespace) -> int:
    from pytest_agentgrade.records.finding import find_run
    from pytest_agentgrade.regrading import regrade

    changed = regrade(find_run(options.run, Path.cwd()), Path.cwd(), print)
    differ = f"{counted(changed, 'verdict')} {'differs' if changed == 1 else 'differ'}"
    print(f"{differ} from what was recorded" if changed else "no recorded verdict has changed")
    return EXIT_FAILED if changed else EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
