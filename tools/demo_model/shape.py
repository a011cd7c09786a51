"""The size of the demo model and the names and shapes of its tensors.

The architecture is llama.cpp's ``hy_v3`` without experts: RMSNorm, QK-norm, NEOX rotary positions, SwiGLU, and one more
block behind the trunk that drafts (multi-token prediction, "nextn").
"""

from __future__ import annotations

from dataclasses import dataclass

ARCHITECTURE = "hy_v3"


@dataclass(frozen=True)
class Shape:
    """Sizes; every row length is a multiple of 32, as Q8_0 weights and a q8_0 KV cache ask."""

    vocabulary: int = 1024
    width: int = 128
    trunk_blocks: int = 3
    """Blocks of the main model; the file has one more, the drafting block."""
    feed_forward: int = 384
    heads: int = 4
    kv_heads: int = 2
    head_width: int = 32
    context: int = 131_072
    """Tokens; what the file claims, so that the study's ``-c 131072`` is accepted."""
    rope_base: float = 10_000.0
    norm_epsilon: float = 1e-5

    @property
    def blocks(self) -> int:
        """Blocks in the file; llama.cpp counts the drafting block too."""
        return self.trunk_blocks + 1


def tensor_shapes(shape: Shape) -> dict[str, tuple[int, ...]]:
    """Name -> shape in rows-first (numpy, torch) order, of every tensor of the file, in file order."""
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (shape.vocabulary, shape.width),
        "output.weight": (shape.vocabulary, shape.width),
        "output_norm.weight": (shape.width,),
    }
    for block in range(shape.blocks):
        shapes |= _block_shapes(shape, f"blk.{block}.")
    return shapes | _draft_shapes(shape, f"blk.{shape.trunk_blocks}.nextn.")


def _block_shapes(shape: Shape, prefix: str) -> dict[str, tuple[int, ...]]:
    queries, keys = shape.heads * shape.head_width, shape.kv_heads * shape.head_width
    return {
        prefix + "attn_norm.weight": (shape.width,),
        prefix + "attn_q.weight": (queries, shape.width),
        prefix + "attn_k.weight": (keys, shape.width),
        prefix + "attn_v.weight": (keys, shape.width),
        prefix + "attn_q_norm.weight": (shape.head_width,),
        prefix + "attn_k_norm.weight": (shape.head_width,),
        prefix + "attn_output.weight": (shape.width, queries),
        prefix + "ffn_norm.weight": (shape.width,),
        prefix + "ffn_gate.weight": (shape.feed_forward, shape.width),
        prefix + "ffn_up.weight": (shape.feed_forward, shape.width),
        prefix + "ffn_down.weight": (shape.width, shape.feed_forward),
    }


def _draft_shapes(shape: Shape, prefix: str) -> dict[str, tuple[int, ...]]:
    return {
        prefix + "eh_proj.weight": (shape.width, 2 * shape.width),
        prefix + "enorm.weight": (shape.width,),
        prefix + "hnorm.weight": (shape.width,),
        prefix + "shared_head_norm.weight": (shape.width,),
    }
