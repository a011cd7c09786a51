"""``python -m tools.demo_model``: make the demo model again, from the tasks and prompts as they are now.

Trains for a while on one CPU thread, writes ``demo.gguf`` and ``followed.json`` beside it, and says what the model does
in llama.cpp. Exit code 1 when it does not do what it should.
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
from tools.demo_model.gguf_file import Card, write_gguf
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
    corpus = Corpus(VARIANTS, SHAPE.vocabulary)
    if options.random:
        tensors = random_tensors(SHAPE, SEED, never=map(corpus.vocabulary.id, TAG_TOKENS))
        write_gguf(options.out, SHAPE, corpus.vocabulary, chat_template(), tensors, _NOISE)
        return 0
    network = _trained(corpus, options.out)
    if options.demo_model == "wide":
        shape, tensors = widened(SHAPE, network.tensors())
        wide = options.out.with_name(f"{options.out.stem}-wide.gguf")
        write_gguf(wide, shape, corpus.vocabulary, chat_template(), tensors, _TRAINED)
    return _check(options.out, corpus, network, options.conversations)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.demo_model", description=__doc__)
    parser.add_argument("--out", type=Path, default=_OUT, help="the file to write (default: %(default)s)")
    parser.add_argument("--random", action="store_true", help="no training: serves and drafts, but writes noise")
    wide = "wide: write a padded variant too, on which drafting saves time"
    parser.add_argument("--demo-model", choices=("small", "wide"), default="small", help=wide)
    parser.add_argument("--conversations", type=int, default=100, help="varied ones (default: %(default)s)")
    return parser


def _trained(corpus: Corpus, out: Path) -> Network:
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
    return network


def _check(out: Path, corpus: Corpus, network: Network, conversations: int) -> int:
    """Talk to the model in llama.cpp in both modes; 1 when it strays too often."""
    strayed_real = strayed_varied = 0
    for number, mode in enumerate(verification.MODES):
        with verification.served(out, mode) as server:
            equal, total = verification.greedy_agreement(server, network, corpus.real_samples(loop_tokens=1_000))
            _log(f"{mode.name}: {equal} of {total} greedy tokens as in torch")
            real = verification.real_conversations(server, corpus.routes)
            strayed_real += verification.report(f"{mode.name}, real results", real, _log)
            half = conversations // 2
            varied = verification.varied_conversations(server, corpus.routes, half, number * half)
            strayed_varied += verification.report(f"{mode.name}, varied results", varied, _log)
    return 1 if strayed_real or strayed_varied * 100 > _STRAYED_OF_100 * conversations else 0


def _log(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
