"""What constants are fitted on: kernels of our own that are in no table, each with one or several sets of data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.cuda.kernel import Kernel

LINE = 256

Arguments = tuple[Any, ...]
Shape = int | tuple[int, ...]


class Program:
    """A kernel and how it is launched.

    Parameters
    ----------
    kernel
        What is compiled in many ways.
    data
        Functions that return arguments; seeded. The compiler does not see which are given: one code is for all.
    threads, block
        The launch; by default a thread for each element of the last argument, in work-groups of 256.
    tolerance
        Of how many elements the result may differ by how code rounds.
    fast
        Whether it is compiled for fast math.
    """

    def __init__(
        self,
        kernel: Kernel,
        *data: Callable[[], Arguments],
        threads: Shape | None = None,
        block: Shape = LINE,
        tolerance: float = 0.0,
        fast: bool = True,
    ) -> None:
        self.kernel = kernel.py_func
        self.name = kernel.py_func.__name__
        self.data = data
        self.threads = threads
        self.block = block
        self.tolerance = tolerance
        self.fast = fast

    def launch(self, arguments: Arguments) -> tuple[Shape, Shape]:
        """Return grid and block for these arguments."""
        threads = self.threads
        if threads is None:
            threads = next(a.size for a in arguments if isinstance(a, np.ndarray))
        if isinstance(threads, int):
            assert isinstance(self.block, int)
            return -(-threads // self.block), self.block
        assert isinstance(self.block, tuple)
        return tuple(-(-n // m) for n, m in zip(threads, self.block, strict=True)), self.block


def numbers() -> np.random.Generator:
    """Return numbers that are the same each time."""
    return np.random.default_rng(20)


def line(given: np.ndarray, result: type, *others: np.ndarray, size: int | None = None) -> Arguments:
    """Return an array, others, and one for a result of each element."""
    return given, *others, np.zeros(size or given.size, result)
