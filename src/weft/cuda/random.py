"""Random numbers in kernels: xoroshiro128+, the same streams as ``numba.cuda.random``.

`create_xoroshiro128p_states` makes the states on the host; the other ``xoroshiro128p_*`` names are for kernels.
"""

from __future__ import annotations

from weft.cuda.arrays import DeviceArray
from weft.frontend.python.cuda_names import CudaName
from weft.frontend.python.device_random import create_xoroshiro128p_states as _create
from weft.frontend.python.device_random import init_xoroshiro128p_states, xoroshiro128p_dtype

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
    return DeviceArray(_create(n, seed, subsequence_start))
