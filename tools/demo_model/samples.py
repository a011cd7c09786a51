"""Transcripts as token sequences, with the tokens marked that the model has to predict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools.demo_model.transcripts import Transcript, Turn
from tools.demo_model.vocabulary import Vocabulary


@dataclass(frozen=True)
class Sample:
    """One sequence to learn from."""

    name: str
    ids: tuple[int, ...]
    targets: tuple[int, ...]
    """Positions p whose next token ``ids[p + 1]`` is the model's own."""


def samples_of(transcript: Transcript, vocabulary: Vocabulary, loop_tokens: int) -> Iterator[Sample]:
    """The conversation without thoughts as one sequence, and each reply that has some as another.

    A loop is cut after ``loop_tokens`` tokens.
    """
    for number, turn in enumerate(transcript.turns):
        if turn.thinks:
            yield _reply_sample(f"{transcript.task}/{number}", turn, vocabulary, loop_tokens)
    plain = [turn for turn in transcript.turns if not turn.thinks]
    if plain:
        yield _conversation_sample(transcript, plain, vocabulary)


def _reply_sample(name: str, turn: Turn, vocabulary: Vocabulary, loop_tokens: int) -> Sample:
    prompt, reply = vocabulary.encode(turn.prompt), vocabulary.encode(turn.reply)
    if turn.loops:
        reply = reply[:loop_tokens]
    return Sample(name, (*prompt, *reply), tuple(range(len(prompt) - 1, len(prompt) + len(reply) - 1)))


def _conversation_sample(transcript: Transcript, turns: Sequence[Turn], vocabulary: Vocabulary) -> Sample:
    last = turns[-1]
    ids = vocabulary.encode(last.prompt + last.reply)
    targets: list[int] = []
    for turn in turns:
        start, length = len(vocabulary.encode(turn.prompt)), len(vocabulary.encode(turn.reply))
        if ids[:start] != vocabulary.encode(turn.prompt) or ids[start : start + length] != vocabulary.encode(
            turn.reply
        ):
            raise ValueError(f"{transcript.task}: a reply is tokenised in another way within its conversation")
        targets.extend(range(start - 1, start + length - 1))
    return Sample(transcript.task, tuple(ids), tuple(targets))
