"""``python -m tools.demo_model``: make the demo model again."""

from __future__ import annotations

import argparse
from pathlib import Path

from tools.demo_model.gguf_file import Card, write_gguf
from tools.demo_model.random_weights import random_tensors
from tools.demo_model.shape import Shape
from tools.demo_model.texts import ROOT, chat_template, project_texts
from tools.demo_model.vocabulary import TAG_TOKENS, train_vocabulary

SEED = 20261130


def main() -> None:
    """Parse the command line and write the model."""
    parser = argparse.ArgumentParser(prog="python -m tools.demo_model", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "pytest_agentgrade" / "demo" / "demo.gguf")
    parser.add_argument("--random", action="store_true", help="random weights: loads, serves and drafts, means nothing")
    options = parser.parse_args()
    _write_random(options.out)


def _write_random(out: Path) -> None:
    shape = Shape()
    card = Card("agentgrade demo (random weights)", "A fixture with random weights; it cannot do anything.")
    vocabulary = train_vocabulary(project_texts(), shape.vocabulary)
    tensors = random_tensors(shape, SEED, never=map(vocabulary.id, TAG_TOKENS))
    write_gguf(out, shape, vocabulary, chat_template(), tensors, card)


main()
