"""Which loops may become dimensions of a grid, and the ways to do that (Juravle, §4.1 and the "what if" of §5.1).

A nest is a loop and the loops inside of it as far as each is the only one at its level and parallel itself:
iterations of all of them may then run in any order. What stands between two loops is pushed into the inner one, or
kept by the thread of its first iteration. A mapping gives the loops of the x, y and z dimension. A warp is 32
iterations of x that follow each other, of one iteration of all others: a row of the grid has ⌈X / 32⌉ warps, the last
of them may be partial. Loops of the nest that are no dimension run in each thread, as do all others.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

from msgspec import Struct

from weft.analysis.sequential.scope import LoopContext

DIMENSIONS = ("x", "y", "z")

MAX_MAPPINGS = 24


class Mapping(Struct, frozen=True):
    """Loops as dimensions of a grid.

    Parameters
    ----------
    loops
        Those of x, y and z; one for each dimension that there is.
    """

    loops: tuple[LoopContext, ...]

    @property
    def x(self) -> LoopContext:
        """The loop of which a warp has consecutive iterations."""
        return self.loops[0]

    def name(self, counter: Callable[[LoopContext], str]) -> str:
        """What people call it, ``x=j, y=i``."""
        return ", ".join(
            f"{d}={counter(loop)}" for d, loop in zip(DIMENSIONS[: len(self.loops)], self.loops, strict=True)
        )


def nest_of(loop: LoopContext, is_parallel: Callable[[LoopContext], bool]) -> tuple[LoopContext, ...]:
    """The loops of a nest, outermost first; `loop` itself is taken for granted."""
    found = [loop]
    while True:
        inside = [other for other in loop.scope.loops.values() if other.parent is found[-1]]
        if len(inside) != 1 or not is_parallel(inside[0]):
            return tuple(found)
        found.append(inside[0])


def mappings_of(nest: tuple[LoopContext, ...]) -> tuple[Mapping, ...]:
    """All ways to give each dimension a loop: the usual one first, in which the innermost loop is x."""
    inner_first = nest[::-1]
    ways = permutations(inner_first, min(len(nest), len(DIMENSIONS)))
    return tuple(Mapping(loops) for loops in ways)[:MAX_MAPPINGS]
