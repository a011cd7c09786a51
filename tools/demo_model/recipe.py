"""The sizes, seeds and training plan of the demo model that is shipped."""

from __future__ import annotations

from tools.demo_model.shape import Shape
from tools.demo_model.training import Stage

SEED = 20261130
SHAPE = Shape(vocabulary=2048)
VARIANTS = 24
"""Transcripts of each task with varied tool results, beside the one with the real ones."""

_WEIGHTS = {"expiring_cache": 4.0, "sqlite_transfers": 2.5, "csv_ledger/1": 1.5}
"""The long replies need most of the training."""

STAGES = (
    Stage("learn", steps=260, rate=1.0, samples_per_step=2, weights=_WEIGHTS, loop_tokens=(200, 900)),
    Stage(
        "long loops",
        steps=24,
        rate=0.1,
        samples_per_step=2,
        weights={**_WEIGHTS, "csv_ledger/1": 6.0},
        loop_tokens=(2_000, 8_200),
    ),
)
