"""How many elements of an array a thread updates, as far as that is known before the launch.

Updates of one block are done together. Those of several blocks may be alternatives, so that the block with most of
them counts. How often a loop around them runs is known where it counts by ones from a number to a number, or to a
parameter of the kernel, such as an extent of an array. Conditions in front of updates are taken to hold: what is
computed of these numbers says whether something pays, not what is right.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop, known_iterations
from weft.graph.loops import Loop, LoopForest
from weft.ir import Argument, BasicBlock, ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.types import IntType

_SAME = frozenset({"sext", "zext", "trunc", "freeze"})


class UpdateCount(Struct, frozen=True):
    """How many updates a thread makes in a block: `times`, times parameters.

    Parameters
    ----------
    times
        Those that are written there, times the iterations of loops that are known in compiling.
    bounds
        The parameters up to which loops around the block count: their numbers and types.
    repeated
        Whether it is in a loop besides of which that is not known.
    """

    times: int
    bounds: tuple[tuple[int, IntType], ...] = ()
    repeated: bool = False


def update_counts(
    view: CFGView, loops: LoopForest, updates: Sequence[Instruction]
) -> tuple[UpdateCount, ...]:
    """How many of some updates a thread makes, for each of their blocks."""
    written: dict[BasicBlock, int] = {}
    for update in updates:
        assert update.block is not None
        written[update.block] = written.get(update.block, 0) + 1
    return tuple(
        _count(view, loops.innermost[view.index[block]], number) for block, number in written.items()
    )


def _count(view: CFGView, loop: Loop | None, times: int) -> UpdateCount:
    bounds: list[tuple[int, IntType]] = []
    repeated = False
    while loop is not None:
        counted = counted_loop(view, loop)
        known = None if isinstance(counted, str) else known_iterations(counted)
        bound = None if isinstance(counted, str) else _parameter(counted)
        if known is not None:
            times *= known
        elif bound is not None:
            bounds.append(bound)
        else:
            repeated = True
        loop = loop.parent
    return UpdateCount(times, tuple(bounds), repeated)


def _parameter(loop: CountedLoop) -> tuple[int, IntType] | None:
    """The parameter that a loop counts up to, by ones from a number."""
    if not isinstance(loop.counter.start, ConstInt) or loop.counter.step != 1:
        return None
    bound: Value = loop.bound
    while isinstance(bound, Instruction) and bound.op in _SAME:
        (bound,) = bound.operands
    if not isinstance(bound, Argument) or not isinstance(bound.type, IntType):
        return None
    return bound.index, bound.type
