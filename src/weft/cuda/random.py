"""Random numbers in kernels: xoroshiro128+, the same streams as ``numba.cuda.random``.

`create_xoroshiro128p_states` makes the states on the host; the other ``xoroshiro128p_*`` names are for kernels.
"""

from __future__ import annotations

from typing import Any

from weft.cuda.random_states import create_states
from weft.device.arrays import DeviceArray
from weft.frontend.python.cuda_names import CudaName
from weft.frontend.python.device_random import xoroshiro128p_dtype

__all__ = [
    "create_xoroshiro128p_states",
    "init_xoroshiro128p_states",
    "xoroshiro128p_dtype",
    "xoroshiro128p_jump",
    "xoroshiro128p_next",
    "xoroshiro128p_normal_float32",
    "xoroshiro128p_normal_float64",
    "xoroshiro128p_uniform_float32",
    "xoroshiro128p_uniform_float64",
]

xoroshiro128p_next = CudaName("random.xoroshiro128p_next")
xoroshiro128p_jump = CudaName("random.xoroshiro128p_jump")
xoroshiro128p_uniform_float32 = CudaName("random.xoroshiro128p_uniform_float32")
xoroshiro128p_uniform_float64 = CudaName("random.xoroshiro128p_uniform_float64")
xoroshiro128p_normal_float32 = CudaName("random.xoroshiro128p_normal_float32")
xoroshiro128p_normal_float64 = CudaName("random.xoroshiro128p_normal_float64")


def create_xoroshiro128p_states(
    n: int, seed: int, subsequence_start: int = 0, stream: object = 0
) -> DeviceArray:
    """Make `n` generator states, each 2^64 steps behind the one before.

    Parameters
    ----------
    n
        How many states, one for each thread that draws numbers.
    seed
        Chooses the sequence.
    subsequence_start
        How many times 2^64 steps to skip first.
    """
    return DeviceArray(create_states(n, seed, subsequence_start))


def init_xoroshiro128p_states(states: Any, seed: int, subsequence_start: int = 0, stream: object = 0) -> None:
    """Fill an array of states, of the device or of the host, as `create_xoroshiro128p_states` makes them."""
    states[:] = create_states(len(states), seed, subsequence_start)
