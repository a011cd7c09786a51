"""The model as GGUF: metadata, tokenizer, chat template, tensors. The same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt

from tools.demo_model.shape import ARCHITECTURE, Shape, tensor_shapes
from tools.demo_model.vocabulary import (
    CONTROL_TOKENS,
    END_OF_TEXT,
    PRE_TOKENIZER,
    TAG_TOKENS,
    TURN_END,
    Vocabulary,
    stored_vocabulary,
)


@dataclass(frozen=True)
class Card:
    """What the file says about itself."""

    name: str
    description: str
    license: str = "mit"


def write_gguf(
    path: Path,
    shape: Shape,
    vocabulary: Vocabulary,
    chat_template: str,
    tensors: Mapping[str, npt.NDArray[np.float32]],
    card: Card,
    *,
    quantization: gguf.GGMLQuantizationType = gguf.GGMLQuantizationType.F16,
) -> None:
    """Write ``path``; matrices are stored as ``quantization``, norms as F32. ValueError when a tensor does not fit.

    A file that is there already is replaced whole: a server may have it mapped into memory.
    """
    _check(shape, vocabulary, tensors)
    unfinished = path.with_suffix(".unfinished")
    writer = gguf.GGUFWriter(unfinished, ARCHITECTURE)
    _describe(writer, card, quantization)
    _add_sizes(writer, shape)
    _add_tokenizer(writer, vocabulary, chat_template)
    for name in tensor_shapes(shape):
        _add_tensor(writer, name, tensors[name], quantization)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    unfinished.replace(path)


def _check(shape: Shape, vocabulary: Vocabulary, tensors: Mapping[str, npt.NDArray[np.float32]]) -> None:
    expected = tensor_shapes(shape)
    wrong = [name for name, size in expected.items() if name not in tensors or tensors[name].shape != size]
    if wrong or len(vocabulary.tokens) != shape.vocabulary:
        raise ValueError(f"tensors that do not fit {shape}: {wrong}; vocabulary of {len(vocabulary.tokens)}")


def _describe(writer: gguf.GGUFWriter, card: Card, quantization: gguf.GGMLQuantizationType) -> None:
    writer.add_type(gguf.GGUFType.MODEL)
    writer.add_name(card.name)
    writer.add_description(card.description)
    writer.add_license(card.license)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_file_type(gguf.LlamaFileType[f"MOSTLY_{quantization.name}"])


def _add_sizes(writer: gguf.GGUFWriter, shape: Shape) -> None:
    writer.add_block_count(shape.blocks)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.feed_forward)
    # Required by the loader of hy_v3; there are no experts, so the value is never used.
    writer.add_expert_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_width)
    writer.add_value_length(shape.head_width)
    writer.add_layer_norm_rms_eps(shape.norm_epsilon)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_rope_dimension_count(shape.head_width)
    writer.add_nextn_predict_layers(1)


def _add_tokenizer(writer: gguf.GGUFWriter, vocabulary: Vocabulary, chat_template: str) -> None:
    kinds = dict.fromkeys(CONTROL_TOKENS, gguf.TokenType.CONTROL) | dict.fromkeys(
        TAG_TOKENS, gguf.TokenType.USER_DEFINED
    )
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(PRE_TOKENIZER)
    writer.add_token_list(list(vocabulary.tokens))
    writer.add_token_types([kinds.get(token, gguf.TokenType.NORMAL) for token in vocabulary.tokens])
    writer.add_token_merges(list(vocabulary.merges))
    # A BOS id is set though none is ever added: without one, /props reports nonsense.
    writer.add_bos_token_id(vocabulary.id(END_OF_TEXT))
    writer.add_eos_token_id(vocabulary.id(TURN_END))
    writer.add_pad_token_id(vocabulary.id(END_OF_TEXT))
    writer.add_add_bos_token(False)
    writer.add_chat_template(chat_template)


def _add_tensor(
    writer: gguf.GGUFWriter, name: str, values: npt.NDArray[np.float32], quantization: gguf.GGMLQuantizationType
) -> None:
    if values.ndim == 1:
        writer.add_tensor(name, values)
        return
    writer.add_tensor(name, gguf.quantize(values, quantization), raw_dtype=quantization)


def read_gguf(path: Path) -> tuple[Shape, Vocabulary, dict[str, npt.NDArray[np.float32]]]:
    """What :func:`write_gguf` wrote, the tensors as float32."""
    reader = gguf.GGUFReader(path)

    def field(name: str) -> Any:
        found = reader.get_field(name)
        if found is None:
            raise ValueError(f"{path} has no {name}")
        return found.contents()

    vocabulary = stored_vocabulary(field("tokenizer.ggml.tokens"), field("tokenizer.ggml.merges"))
    shape = Shape(
        vocabulary=len(vocabulary.tokens),
        width=field(f"{ARCHITECTURE}.embedding_length"),
        trunk_blocks=field(f"{ARCHITECTURE}.block_count") - 1,
        feed_forward=field(f"{ARCHITECTURE}.feed_forward_length"),
        heads=field(f"{ARCHITECTURE}.attention.head_count"),
        kv_heads=field(f"{ARCHITECTURE}.attention.head_count_kv"),
        head_width=field(f"{ARCHITECTURE}.attention.key_length"),
        context=field(f"{ARCHITECTURE}.context_length"),
    )
    tensors = {tensor.name: gguf.dequantize(tensor.data, tensor.tensor_type) for tensor in reader.tensors}
    return shape, vocabulary, tensors
