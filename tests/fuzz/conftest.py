"""Examples are the same in every run; ``AGENTGRADE_FUZZ=5000`` takes so many new ones for each test."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_more = int(os.environ.get("AGENTGRADE_FUZZ", "0"))
settings.register_profile(
    "agentgrade", max_examples=_more or 60, derandomize=not _more, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)  # fmt: skip
settings.load_profile("agentgrade")
