"""The report as one HTML file that needs nothing else: no network, no other file, no script but its own few lines."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest_agentgrade
from pytest_agentgrade.analysis.contrasts import twin_tests
from pytest_agentgrade.analysis.experiment import Experiment
from pytest_agentgrade.analysis.mixtures import mixtures
from pytest_agentgrade.analysis.summary import summarise
from pytest_agentgrade.demo import DEMO_NOTE
from pytest_agentgrade.errors import SettingsError
from pytest_agentgrade.escaping import escape
from pytest_agentgrade.records.loaded import LoadedRun
from pytest_agentgrade.records.model import RunRecord
from pytest_agentgrade.reporting.compare_lines import budget_lines
from pytest_agentgrade.reporting.html_attempts import number_attempts
from pytest_agentgrade.reporting.html_checks import matrix_parts
from pytest_agentgrade.reporting.html_modes import ModesPart, modes_part
from pytest_agentgrade.reporting.html_pairs import ContrastPart, contrast_parts, placebo_parts
from pytest_agentgrade.reporting.html_parts import moment
from pytest_agentgrade.reporting.html_provenance import run_part
from pytest_agentgrade.reporting.noise_text import twin_lines
from pytest_agentgrade.reporting.summary_text import scope_line, summary_notes

if TYPE_CHECKING:
    from jinja2 import Environment

    from pytest_agentgrade.reporting.several_runs import Report

_TEMPLATES = "templates"
_CHARACTERS = 100_000
"""Of one text; each was cut much shorter where it came in."""


def require_html() -> None:
    """SettingsError when jinja2 is missing."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise SettingsError("an HTML report needs jinja2", "pip install jinja2") from error


def render_html(report: Report, joined: RunRecord, beside: Sequence[str] = ()) -> str:
    """The whole page; ``joined`` is all runs seen as one, ``beside`` what is said of a mode that stands alone.

    The same records give the same page.
    """
    require_html()
    experiment, runs = report.experiment, report.runs
    scope = scope_line(joined, experiment.keys_by_run)
    attempts = number_attempts(experiment, runs)
    modes = modes_part(experiment, attempts)
    contrasts = contrast_parts(report.contrasts, attempts)
    return _environment().get_template("report.html.j2").render(
        title=f"agentgrade: {scope}",
        scope=scope,
        begun=" and ".join(dict.fromkeys(moment(loaded.run.created_at) for loaded in runs)),
        version=pytest_agentgrade.__version__,
        findings=_findings(contrasts, modes, experiment),
        demo=_demo_note(experiment),
        notes=[*_notes(experiment, runs, joined), *beside],
        gates=[(result.line(), result.tripped) for result in report.gate_results],
        budgets=budget_lines(report.budgets),
        modes=modes,
        contrasts=(*contrasts, *placebo_parts(report.placebos, attempts)),
        matrices=matrix_parts(attempts),
        attempts=attempts,
        runs=[run_part(loaded) for loaded in runs],
        **_inline(),
    )  # fmt: skip


def _findings(
    contrasts: Sequence[ContrastPart], modes: ModesPart, experiment: Experiment
) -> list[tuple[str, Sequence[str]]]:
    """(title, sentences) of each comparison; of modes that are compared with nothing, what they delivered."""
    if contrasts:
        return [(part.title, part.verdict) for part in contrasts]
    return [
        (name, [f"{one.delivered} of {one.counted} counted attempts left a working patch; nothing is compared."])
        for name, one in zip(modes.names, summarise(experiment.records), strict=True)
    ]


def _demo_note(experiment: Experiment) -> str:
    served = (record.server for record in experiment.records)
    return DEMO_NOTE if any(server is not None and server.demo for server in served) else ""


def _notes(experiment: Experiment, runs: Sequence[LoadedRun], joined: RunRecord) -> list[str]:
    """All that is said beside the figures, but for the note on the demo model, which has a place of its own."""
    notes = summary_notes(joined, experiment.records, summarise(experiment.records))
    notes += [
        *mixtures(experiment),
        *twin_lines(twin_tests(experiment)),
        *(note for loaded in runs for note in loaded.notes),
    ]
    return [note for note in notes if note != DEMO_NOTE]


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("pytest_agentgrade.reporting", _TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _harmless(value: Any) -> Any:
    """Text is escaped where it comes in. What a user's own files say is not from outside, but no better."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return escape(value, _CHARACTERS, keep_newlines=True)


@cache
def _inline() -> dict[str, Any]:
    """Style and script, and the policy that allows these two by their hashes and nothing else at all."""
    from markupsafe import Markup

    style, script = (_read(name) for name in ("report.css", "report.js"))
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    return {
        "style": Markup(style),
        "script": Markup(script),
        "policy": f"{policy}; base-uri 'none'; form-action 'none'",
    }


def _read(name: str) -> str:
    return files("pytest_agentgrade.reporting").joinpath(_TEMPLATES, name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
