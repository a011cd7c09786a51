"""``python -m tools.demo_model``: make the demo model again, from the tasks and prompts as they are now.

Trains on one CPU thread (about a quarter of an hour), writes the model with ``followed.json`` beside it, and says what
the model does in llama.cpp. Exit code 1 when it does not do what it should.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import torch

from tools.demo_model import verification
from tools.demo_model.corpus import Corpus
from tools.demo_model.followed import followed
from tools.demo_model.gguf_file import Card, read_gguf, write_gguf
from tools.demo_model.network import Network
from tools.demo_model.places import ROOT
from tools.demo_model.random_weights import random_tensors
from tools.demo_model.recipe import SEED, SHAPE, STAGES, VARIANTS
from tools.demo_model.texts import chat_template
from tools.demo_model.training import losses, train
from tools.demo_model.vocabulary import TAG_TOKENS
from tools.demo_model.wide import widened

_OUT = ROOT / "pytest_agentgrade" / "demo" / "demo.gguf"
_NOISE = Card("agentgrade demo (random weights)", "A fixture with random weights; it cannot do anything.")
_TRAINED = Card(
    "agentgrade demo", "A fixture that knows four conversations by heart; its scores say nothing about coding ability."
)
_STRAYED_OF_100 = 2
"""So many of a hundred varied conversations may leave their route."""


def main() -> int:
    """Parse the command line and do what it asks for; returns the exit code."""
    options = _parser().parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    if options.demo_model == "wide":
        return _write_wide(options.out)
    corpus = Corpus(VARIANTS, SHAPE.vocabulary)
    if options.random:
        tensors = random_tensors(SHAPE, SEED, never=map(corpus.vocabulary.id, TAG_TOKENS))
        write_gguf(options.out, SHAPE, corpus.vocabulary, chat_template(), tensors, _NOISE)
        return 0
    if not options.check:
        _train(corpus, options.out)
    return _check(options.out, corpus, options.conversations)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.demo_model", description=__doc__)
    parser.add_argument("--out", type=Path, default=_OUT, help="the model's file (default: %(default)s)")
    parser.add_argument("--random", action="store_true", help="no training: serves and drafts, but writes noise")
    parser.add_argument("--check", action="store_true", help="no training: check the file that is there")
    wide = "wide: pad the file that is there to 29 MB, as OUT-wide.gguf: drafting costs much less there"
    parser.add_argument("--demo-model", choices=("small", "wide"), default="small", help=wide)
    parser.add_argument("--conversations", type=int, default=100, help="varied ones to check (default: %(default)s)")
    return parser


def _write_wide(small: Path) -> int:
    shape, vocabulary, tensors = read_gguf(small)
    wide_shape, wide_tensors = widened(shape, tensors)
    wide = small.with_name(f"{small.stem}-wide.gguf")
    write_gguf(wide, wide_shape, vocabulary, chat_template(), wide_tensors, _TRAINED)
    _log(f"wrote {wide}")
    return 0


def _train(corpus: Corpus, out: Path) -> None:
    """Train from the start; the file is written after every stage."""
    network = Network(SHAPE)
    network.load(random_tensors(SHAPE, SEED))
    for number, stage in enumerate(STAGES):
        train(network, stage, corpus, SEED + number, _log)
        write_gguf(out, SHAPE, corpus.vocabulary, chat_template(), network.tensors(), _TRAINED)
    out.with_name("followed.json").write_text(json.dumps(followed(), indent=1) + "\n", encoding="utf-8")
    with torch.no_grad():
        for sample in corpus.real_samples(loop_tokens=1_000):
            main_loss, draft_loss = losses(network, sample, own_output=False)
            _log(f"{sample.name}: {len(sample.ids)} tokens, main {main_loss.item():.6f} draft {draft_loss.item():.6f}")


def _check(path: Path, corpus: Corpus, conversations: int) -> int:
    """Talk to the model in llama.cpp in both modes; 1 when it strays too often or differs from torch."""
    shape, vocabulary, tensors = read_gguf(path)
    network = Network(shape)
    network.load(tensors)
    if vocabulary.tokens != corpus.vocabulary.tokens:
        _log("the texts have changed since this model was trained: its vocabulary is another one")
        return 1
    strayed_real = strayed_varied = differing = 0
    for number, mode in enumerate(verification.MODES):
        with verification.served(path, mode) as server:
            equal, total = verification.greedy_agreement(server, network, corpus.real_samples(loop_tokens=1_000))
            _log(f"{mode.name}: {equal} of {total} greedy tokens as in torch")
            differing += total - equal
            real = verification.real_conversations(server, corpus.routes)
            strayed_real += verification.report(f"{mode.name}, real results", real, _log)
            half = conversations // 2
            varied = verification.varied_conversations(server, corpus.routes, half, number * half)
            strayed_varied += verification.report(f"{mode.name}, varied results", varied, _log)
    return 1 if differing or strayed_real or strayed_varied * 100 > _STRAYED_OF_100 * conversations else 0


def _log(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
