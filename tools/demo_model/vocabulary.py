"""The tokenizer: byte-level BPE trained on the project's own texts, with ChatML, thinking and tool-call tags."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

END_OF_TEXT, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
CONTROL_TOKENS = (END_OF_TEXT, TURN_START, TURN_END)
TAG_TOKENS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")

PRE_TOKENIZER = "qwen2"
"""llama.cpp's name for the splitting pattern below."""
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True)
class Vocabulary:
    """What a GGUF file stores of a tokenizer, and the tokenizer itself."""

    tokens: tuple[str, ...]
    """By id; ordinary ones in GPT-2's printable byte alphabet."""
    merges: tuple[str, ...]
    """``"left right"``, the earliest first."""
    tokenizer: Tokenizer

    def encode(self, text: str) -> list[int]:
        """Ids of ``text``; tags and control tokens written in it are recognised, nothing is added."""
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def id(self, token: str) -> int:
        """The id of a control or tag token; KeyError if there is none."""
        found = self.tokenizer.token_to_id(token)
        if found is None:
            raise KeyError(token)
        return int(found)


def train_vocabulary(texts: Iterable[str], size: int) -> Vocabulary:
    """Train exactly ``size`` entries (control and tag tokens last); ValueError when the texts are too small for it."""
    special = CONTROL_TOKENS + TAG_TOKENS
    tokenizer = _split_and_joined(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(special),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
        special_tokens=[],
    )
    tokenizer.train_from_iterator(texts, trainer)
    ids = tokenizer.get_vocab()
    tokens = (*sorted(ids, key=lambda token: ids[token]), *special)
    if len(tokens) != size:
        raise ValueError(f"the texts give only {len(tokens)} entries of {size}")
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return stored_vocabulary(tokens, [merge if isinstance(merge, str) else " ".join(merge) for merge in merges])


def stored_vocabulary(tokens: Sequence[str], merges: Sequence[str]) -> Vocabulary:
    """A vocabulary from what a GGUF file stores of it."""
    special = len(CONTROL_TOKENS) + len(TAG_TOKENS)
    ordinary = {token: number for number, token in enumerate(tokens[:-special])}
    pairs = [(left, right) for left, right in (merge.split(" ") for merge in merges)]
    tokenizer = _split_and_joined(models.BPE(ordinary, pairs))
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in CONTROL_TOKENS])
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in TAG_TOKENS])
    return Vocabulary(tuple(tokens), tuple(merges), tokenizer)


def _split_and_joined(model: models.BPE) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer
