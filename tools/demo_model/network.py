"""The demo model in torch: llama.cpp's dense ``hy_v3`` with its drafting block, for training on a CPU."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from tools.demo_model.shape import Shape, tensor_shapes


class RmsNorm(nn.Module):
    """Root-mean-square norm with a weight."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self._epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, self.weight.shape, self.weight, self._epsilon)


class Block(nn.Module):
    """Attention with normed queries and keys, then SwiGLU; both with a residual path."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self._heads, self._kv_heads, self._head_width = shape.heads, shape.kv_heads, shape.head_width
        queries, keys = shape.heads * shape.head_width, shape.kv_heads * shape.head_width
        self.attn_norm = RmsNorm(shape.width, shape.norm_epsilon)
        self.attn_q = nn.Linear(shape.width, queries, bias=False)
        self.attn_k = nn.Linear(shape.width, keys, bias=False)
        self.attn_v = nn.Linear(shape.width, keys, bias=False)
        self.attn_q_norm = RmsNorm(shape.head_width, shape.norm_epsilon)
        self.attn_k_norm = RmsNorm(shape.head_width, shape.norm_epsilon)
        self.attn_output = nn.Linear(queries, shape.width, bias=False)
        self.ffn_norm = RmsNorm(shape.width, shape.norm_epsilon)
        self.ffn_gate = nn.Linear(shape.width, shape.feed_forward, bias=False)
        self.ffn_up = nn.Linear(shape.width, shape.feed_forward, bias=False)
        self.ffn_down = nn.Linear(shape.feed_forward, shape.width, bias=False)

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        x = x + self._attend(self.attn_norm(x), rotation)
        inner = self.ffn_norm(x)
        out: Tensor = x + self.ffn_down(functional.silu(self.ffn_gate(inner)) * self.ffn_up(inner))
        return out

    def _attend(self, x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        tokens = x.shape[0]
        query = self.attn_q_norm(self.attn_q(x).view(tokens, self._heads, self._head_width))
        key = self.attn_k_norm(self.attn_k(x).view(tokens, self._kv_heads, self._head_width))
        value = self.attn_v(x).view(tokens, self._kv_heads, self._head_width)
        groups = self._heads // self._kv_heads
        key = _rotate(key, rotation).repeat_interleave(groups, dim=1)
        value = value.repeat_interleave(groups, dim=1)
        mixed = functional.scaled_dot_product_attention(
            _rotate(query, rotation).transpose(0, 1)[None],
            key.transpose(0, 1)[None],
            value.transpose(0, 1)[None],
            is_causal=True,
        )
        out: Tensor = self.attn_output(mixed[0].transpose(0, 1).reshape(tokens, -1))
        return out


class DraftBlock(Block):
    """The drafting block: a block behind the projection of (token embedding, hidden state before it)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.nextn = nn.ModuleDict(
            {
                "eh_proj": nn.Linear(2 * shape.width, shape.width, bias=False),
                "enorm": RmsNorm(shape.width, shape.norm_epsilon),
                "hnorm": RmsNorm(shape.width, shape.norm_epsilon),
                "shared_head_norm": RmsNorm(shape.width, shape.norm_epsilon),
            }
        )

    def draft(self, embedded: Tensor, hidden: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        """Hidden states (n, width), ready for the output matrix, from those before each token."""
        joined = torch.cat((self.nextn["enorm"](embedded), self.nextn["hnorm"](hidden)), dim=1)
        out: Tensor = self.nextn["shared_head_norm"](self(self.nextn["eh_proj"](joined), rotation))
        return out


class Network(nn.Module):
    """Trunk, output and drafting block. Parameter names are the tensor names of the file."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.token_embd = nn.Embedding(shape.vocabulary, shape.width)
        self.output = nn.Linear(shape.width, shape.vocabulary, bias=False)
        self.output_norm = RmsNorm(shape.width, shape.norm_epsilon)
        self.blk = nn.ModuleList([Block(shape) for _ in range(shape.trunk_blocks)] + [DraftBlock(shape)])
        half = shape.head_width // 2
        frequencies = shape.rope_base ** (-torch.arange(half, dtype=torch.float64) / half)
        self.register_buffer("_frequencies", frequencies, persistent=False)

    def hidden(self, ids: Tensor) -> Tensor:
        """Normed hidden states (n, width) of the trunk for one text of n tokens."""
        x = self.token_embd(ids)
        rotation = self._rotation(len(ids))
        for block in list(self.blk)[:-1]:
            x = block(x, rotation)
        out: Tensor = self.output_norm(x)
        return out

    def drafted(self, ids: Tensor, before: Tensor) -> Tensor:
        """The drafting block's hidden states, from the tokens and ``before`` (n, width): the states one token back."""
        block = self.blk[-1]
        assert isinstance(block, DraftBlock)
        return block.draft(self.token_embd(ids), before, self._rotation(len(ids)))

    def load(self, tensors: dict[str, npt.NDArray[np.float32]]) -> None:
        """Take over the tensors of a file."""
        self.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in tensors.items()})

    def tensors(self) -> dict[str, npt.NDArray[np.float32]]:
        """All weights under the names of the file."""
        state = self.state_dict()
        return {name: state[name].detach().float().numpy() for name in tensor_shapes(self.shape)}

    def _rotation(self, tokens: int) -> tuple[Tensor, Tensor]:
        angles = torch.arange(tokens, dtype=torch.float64)[:, None] * self.get_buffer("_frequencies")
        return angles.cos().float()[:, None, :], angles.sin().float()[:, None, :]


def shifted(states: Tensor) -> Tensor:
    """For each token the state of the token before it, zeros for the first one."""
    return functional.pad(states[:-1], (0, 0, 1, 0))


def _rotate(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    """NEOX rotary embedding: the halves of each head are the two coordinates."""
    cosine, sine = rotation
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)
