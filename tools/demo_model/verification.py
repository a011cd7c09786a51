"""Does the exported model do in llama.cpp what it was trained for?"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from pytest_agentgrade.assignment.mode import Mode
from pytest_agentgrade.attempt.server import RunningServer, ServerConfig, launch
from pytest_agentgrade.attempt.server.httpcalls import post_json
from tools.demo_model.conversations import Conversation, converse
from tools.demo_model.network import Network
from tools.demo_model.routes import Route
from tools.demo_model.samples import Sample
from tools.demo_model.variation import varied

MODES = (
    Mode("baseline", ("--spec-type", "none"), speculates=False),
    Mode("mtp", ("--spec-type", "draft-mtp", "--spec-draft-n-max", "3"), speculates=True),
)
SEEDS = (4242, 8675309)
CAP = 8_192
_SHORT_CAP = 1_500
"""Token cap of the many varied conversations: a loop that has come so far goes on."""


@contextmanager
def served(path: Path, mode: Mode, server: str = "embedded") -> Iterator[RunningServer]:
    """The model in one mode, on one thread."""
    config = ServerConfig(server=server, model=path, context=32_768, threads=1)
    with tempfile.TemporaryDirectory(prefix="demo-model-") as folder:
        log = Path(folder, "server.log")
        with launch(mode, config, log_path=log, lock_dir=Path(folder)) as running:
            yield running


def greedy_agreement(server: RunningServer, network: Network, samples: Sequence[Sample]) -> tuple[int, int]:
    """(equal, all) tokens: what the server writes greedily, and torch's best token after the same beginning."""
    equal = total = 0
    for sample in samples:
        start = sample.targets[0] + 1
        wanted = min(200, len(sample.ids) - start)
        body = {
            "prompt": list(sample.ids[:start]), "n_predict": wanted, "temperature": 0.0, "return_tokens": True,
            "cache_prompt": False,
        }  # fmt: skip
        written = post_json(server.url, "/completion", body)["tokens"]
        ids = torch.tensor([*sample.ids[:start], *written])
        with torch.no_grad():
            best = network.output(network.hidden(ids)[start - 1 : -1]).argmax(dim=1).tolist()
        equal += sum(ours == theirs for ours, theirs in zip(best, written, strict=True))
        total += len(written)
    return equal, total


def real_conversations(server: RunningServer, routes: Sequence[Route]) -> list[Conversation]:
    """Each task with both seeds, the tools' real results and the full token cap."""
    return [converse(server.url, route, seed=seed, cap=CAP) for seed in SEEDS for route in routes]


def varied_conversations(server: RunningServer, routes: Sequence[Route], count: int, first: int) -> list[Conversation]:
    """``count`` conversations with varied tool results, the tasks in turn, each with a seed of its own."""
    return [
        converse(server.url, routes[n % len(routes)], seed=n, cap=_SHORT_CAP, vary=varied(n))
        for n in range(first, first + count)
    ]


def report(name: str, talks: Sequence[Conversation], log: Callable[[str], None]) -> int:
    """Log one line of totals and one for each conversation that strayed; returns how many did."""
    strayed = [talk for talk in talks if talk.strayed]
    drafted, accepted = sum(talk.drafted for talk in talks), sum(talk.accepted for talk in talks)
    tokens, cached = sum(talk.tokens for talk in talks), sum(talk.cached for talk in talks)
    kept = f"{len(talks) - len(strayed)} of {len(talks)} conversations on track"
    log(f"{name}: {kept}; {tokens} tokens, {drafted} drafted, {accepted} accepted, {cached} from a cache")
    for talk in strayed:
        log(f"  {talk.task}: {talk.strayed}")
    return len(strayed)
