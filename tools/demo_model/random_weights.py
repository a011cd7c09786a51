"""Random weights: enough to load, to serve and to draft; the tokens mean nothing."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tools.demo_model.shape import Shape, tensor_shapes


def random_tensors(shape: Shape, seed: int, never: Iterable[int] = ()) -> dict[str, npt.NDArray[np.float32]]:
    """The same tensors for the same seed on every machine: normal with deviation 1/sqrt(row length), norms all one.

    The ids in ``never`` get logit zero, which is never among the twenty best: noise with half a tool call in it makes
    the server answer with an error.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    tensors = {name: _tensor(generator, size) for name, size in tensor_shapes(shape).items()}
    tensors["output.weight"][list(never)] = 0.0
    return tensors


def _tensor(generator: np.random.Generator, size: tuple[int, ...]) -> npt.NDArray[np.float32]:
    if len(size) == 1:
        return np.ones(size, dtype=np.float32)
    values: npt.NDArray[np.float32] = (generator.standard_normal(size) / np.sqrt(size[-1])).astype(np.float32)
    return values
