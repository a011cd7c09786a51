"""All that the model learns from: the four conversations, many times with varied tool results."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from tools.demo_model.routes import Route, all_routes
from tools.demo_model.samples import Sample, samples_of
from tools.demo_model.transcripts import Transcript, play
from tools.demo_model.variation import varied
from tools.demo_model.vocabulary import Vocabulary, train_vocabulary

_LOOP_CHARACTERS = 600
"""Of a loop, as much text counts for the vocabulary."""


class Corpus:
    """Transcripts of all routes: one with the real results of the tools, and ``variants`` with varied ones."""

    def __init__(self, variants: int, vocabulary_size: int) -> None:
        self.routes: tuple[Route, ...] = all_routes()
        self._transcripts: list[tuple[Transcript, ...]] = [
            (play(route), *(play(route, varied(seed)) for seed in range(variants))) for route in self.routes
        ]
        self.vocabulary: Vocabulary = train_vocabulary(self._texts(), vocabulary_size)

    def draw(
        self, chance: random.Random, weights: Mapping[str, float], loop_tokens: int, count: int
    ) -> Sequence[Sample]:
        """``count`` different samples of different names, drawn by weight (1 for names not in ``weights``)."""
        real = chance.random() < 0.3
        chosen = [kinds[0] if real else chance.choice(kinds) for kinds in self._transcripts]
        samples = [sample for one in chosen for sample in samples_of(one, self.vocabulary, loop_tokens)]
        # Efraimidis and Spirakis: the greatest of u^(1/w) are a weighted draw without replacement.
        order = sorted(samples, key=lambda sample: -(chance.random() ** (1 / weights.get(sample.name, 1.0))))
        return order[:count]

    def real_samples(self, loop_tokens: int) -> list[Sample]:
        """The samples with the tools' real results."""
        return [sample for kinds in self._transcripts for sample in samples_of(kinds[0], self.vocabulary, loop_tokens)]

    def _texts(self) -> Iterator[str]:
        for kinds in self._transcripts:
            for transcript in kinds[:3]:
                yield transcript.text
            for turn in kinds[0].turns:
                yield turn.reply[:_LOOP_CHARACTERS] if turn.loops else turn.reply
