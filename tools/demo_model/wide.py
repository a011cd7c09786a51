"""The same model, padded until reading its weights takes most of the time: drafting costs much less there."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from tools.demo_model.shape import Shape, tensor_shapes

Tensors = dict[str, npt.NDArray[np.float32]]
_MORE_BLOCKS = 5
_FEED_FORWARD = 3_840


def widened(shape: Shape, tensors: Tensors) -> tuple[Shape, Tensors]:
    """A model of about 30 MB (F16) with exactly the same outputs.

    The blocks added between trunk and drafting block write nothing to the residual stream, and the rows added to the
    feed-forward matrices are zero.
    """
    wide = dataclasses.replace(shape, trunk_blocks=shape.trunk_blocks + _MORE_BLOCKS, feed_forward=_FEED_FORWARD)
    padded = {name: np.zeros(size, dtype=np.float32) for name, size in tensor_shapes(wide).items()}
    for name, values in tensors.items():
        target = padded[_moved(name, shape, wide)]
        target[tuple(slice(length) for length in values.shape)] = values
    return wide, padded


def _moved(name: str, shape: Shape, wide: Shape) -> str:
    """The drafting block stays the last one."""
    prefix = f"blk.{shape.trunk_blocks}."
    return f"blk.{wide.trunk_blocks}.{name.removeprefix(prefix)}" if name.startswith(prefix) else name
