"""A pytest plugin (``-p tests.hostile.impatient``): a judge that gives up early, for candidates that never answer."""

from __future__ import annotations

from functools import partial

from pytest_agentgrade.grading import judge
from pytest_agentgrade.grading.session import Limits

judge.Limits = partial(Limits, question=3.0, check=5.0)  # type: ignore[misc, assignment]
