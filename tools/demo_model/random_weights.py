"""Random weights: enough to load, to serve and to draft; the tokens mean nothing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tools.demo_model.shape import Shape, tensor_shapes


def random_tensors(shape: Shape, seed: int) -> dict[str, npt.NDArray[np.float32]]:
    """The same tensors for the same seed on every machine: normal with deviation 1/sqrt(row length), norms all one."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return {name: _tensor(generator, size) for name, size in tensor_shapes(shape).items()}


def _tensor(generator: np.random.Generator, size: tuple[int, ...]) -> npt.NDArray[np.float32]:
    if len(size) == 1:
        return np.ones(size, dtype=np.float32)
    return (generator.standard_normal(size) / np.sqrt(size[-1])).astype(np.float32)
