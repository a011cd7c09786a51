"""Train trunk and drafting block together, on one CPU thread, with fixed seeds."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from tools.demo_model.corpus import Corpus
from tools.demo_model.network import Network, shifted
from tools.demo_model.samples import Sample

_DRAFT_WEIGHT = 0.3
_OWN_OUTPUT_FROM = 0.15
"""Share of the steps after which every second one also trains the drafting block on its own output."""


@dataclass(frozen=True)
class Stage:
    """A part of the training with one plan."""

    name: str
    steps: int
    rate: float
    """Factor on the learning rates."""
    samples_per_step: int
    weights: Mapping[str, float]
    """How often a sample is drawn, by its name; 1 for those not named."""
    loop_tokens: tuple[int, int]
    """Least and greatest length of a loop."""


def train(network: Network, stage: Stage, corpus: Corpus, seed: int, log: Callable[[str], None]) -> None:
    """Run one stage in place; logs the mean losses every 20 steps."""
    chance = random.Random(seed)
    optimizers = _optimizers(network)
    started, sums = time.monotonic(), [0.0, 0.0, 0.0]
    for step in range(stage.steps):
        _set_rates(optimizers, stage.rate * _schedule(step, stage.steps))
        own = step % 2 == 1 and step > _OWN_OUTPUT_FROM * stage.steps
        loop_tokens = chance.randint(*stage.loop_tokens)
        samples = corpus.draw(chance, stage.weights, loop_tokens, stage.samples_per_step)
        for sample in samples:
            main, draft = losses(network, sample, own_output=own)
            ((main + _DRAFT_WEIGHT * draft) / len(samples)).backward()
            sums = [sums[0] + main.item(), sums[1] + draft.item() / (2 if own else 1), sums[2] + 1]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        for optimizer, _ in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if step % 20 == 19:
            means = f"main {sums[0] / sums[2]:.5f} draft {sums[1] / sums[2]:.5f}"
            log(f"{stage.name} {step + 1}/{stage.steps} {means} {time.monotonic() - started:.0f} s")
            sums = [0.0, 0.0, 0.0]


def losses(network: Network, sample: Sample, *, own_output: bool) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy over the sample's targets of the trunk and of the drafting block.

    With ``own_output`` the latter has a second term, for drafts that follow a draft: the block gets its own states.
    """
    ids = torch.tensor(sample.ids)
    places = torch.tensor(sample.targets)
    wanted = ids[places + 1]
    hidden = network.hidden(ids)
    main = functional.cross_entropy(network.output(hidden[places]), wanted)
    drafted = network.drafted(ids, shifted(hidden))
    draft = functional.cross_entropy(network.output(drafted[places]), wanted)
    if own_output:
        further = network.drafted(ids, shifted(drafted))
        draft = draft + functional.cross_entropy(network.output(further[places]), wanted)
    return main, draft


def _optimizers(network: Network) -> list[tuple[torch.optim.Optimizer, float]]:
    """Each optimizer with its full learning rate: Muon for the blocks' matrices, Adam for all else."""
    matrices = [value for name, value in network.named_parameters() if value.ndim == 2 and name.startswith("blk.")]
    chosen = {id(value) for value in matrices}
    others = [value for value in network.parameters() if id(value) not in chosen]
    return [
        (torch.optim.Muon(matrices, lr=0.02, weight_decay=0.0, momentum=0.95), 0.02),
        (torch.optim.Adam(others, lr=4e-3, betas=(0.9, 0.95)), 4e-3),
    ]


def _set_rates(optimizers: Sequence[tuple[torch.optim.Optimizer, float]], factor: float) -> None:
    for optimizer, rate in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate * factor


def _schedule(step: int, steps: int) -> float:
    """Warm-up over 15 steps, constant to 40 %, then down to 2 % in a straight line."""
    if step < 15:
        return (step + 1) / 15
    left = (steps - step) / (0.6 * steps)
    return min(1.0, 0.02 + 0.98 * left)
