"""What the examples share: a kernel with seeded arguments, its launch and the result it should have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.cuda.kernel import Kernel


class Checked:
    """Arguments, some of which are outputs that can be compared with what they should hold."""

    __slots__ = ()
    arguments: tuple[Any, ...]
    outputs: tuple[int, ...]
    rtol: float
    atol: float
    mismatches: float

    def complaint(self, expected: tuple[np.ndarray, ...]) -> str | None:
        """Say which output differs from the expected one, None when none does."""
        for position, wanted in zip(self.outputs, expected, strict=True):
            got = self.arguments[position]
            right = np.isclose(got, wanted, rtol=self.rtol, atol=self.atol, equal_nan=True)
            wrong = int(right.size - np.count_nonzero(right))
            if wrong > self.mismatches * right.size:
                first = np.unravel_index(int(np.argmin(right)), right.shape)
                place = ", ".join(map(str, first))
                return (
                    f"{wrong} of {right.size} elements of output {position} are wrong: "
                    f"[{place}] is {got[first]}, not {wanted[first]}"
                )
        return None


@dataclass(frozen=True, slots=True)
class Problem(Checked):
    """A kernel and what to launch it on.

    Parameters
    ----------
    kernel
        Compiled at its first launch.
    arguments
        Inputs and outputs, in the order of the kernel's parameters.
    grid, block
        How many groups of how many threads.
    outputs
        Positions of the arguments that the kernel writes.
    expected
        Computes what they should hold.
    rtol, atol
        How far numbers may be off.
    mismatches
        Fraction of the elements that may differ by more: where rounding decides which way a thread goes.
    """

    kernel: Kernel
    arguments: tuple[Any, ...]
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    outputs: tuple[int, ...]
    expected: Callable[[], tuple[np.ndarray, ...]]
    rtol: float = 0.0
    atol: float = 0.0
    mismatches: float = 0.0

    def launch(self) -> None:
        self.kernel[self.grid, self.block](*self.arguments)


def blocks_for(count: int, threads: int) -> int:
    """Return how many groups of so many threads cover `count` items."""
    return max(1, -(-count // threads))
