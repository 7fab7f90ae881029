"""How each loop of a nest is written: as a dimension of the grid, as a loop that counts, or as one with a condition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_exit
from weft.analysis.sequential.scope import LoopContext
from weft.ir import Argument, BasicBlock, ConstInt, Instruction, Value
from weft.ir.slices import slice_of

if TYPE_CHECKING:
    from weft.loops.emission.nests import Nest

_STRICT = {"slt": 0, "ult": 0, "sgt": 0, "ugt": 0, "ne": 0, "sle": 1, "ule": 1, "sge": -1, "uge": -1}


class Counting(Struct, frozen=True):
    """``for phi in range(start, bound + beyond, step)``.

    Parameters
    ----------
    phi, start, bound, beyond, step
        As above.
    is_unsigned
        Whether the numbers are compared as unsigned ones.
    """

    phi: Instruction
    start: Value
    bound: Value
    beyond: int
    step: int
    is_unsigned: bool


class LoopKinds(Struct, frozen=True):
    """The loops of a nest.

    Parameters
    ----------
    headers
        Each loop by the block that it begins with.
    grid
        Loops that are dimensions.
    counting
        Loops that count.
    """

    headers: dict[BasicBlock, LoopContext]
    grid: dict[LoopContext, CountedLoop | None]
    counting: dict[LoopContext, Counting]

    def test_of(self, loop: LoopContext) -> Instruction | None:
        """The comparison at the top of a loop that its kind makes unnecessary."""
        if loop in self.counting or loop in self.grid:
            terminator = loop.header.terminator
            if len(terminator.operands) == 1 and isinstance(terminator.operands[0], Instruction):
                return terminator
        return None


def loop_kinds(nest: Nest) -> LoopKinds:
    """Decide how the loops of a nest are written."""
    scope = nest.loop.scope
    written = set(nest.blocks)
    headers = {c.header: c for c in scope.loops.values() if nest.loop.contains(c) and c.header in written}
    grid: dict[LoopContext, CountedLoop | None] = {}
    counting: dict[LoopContext, Counting] = {}
    for loop in headers.values():
        counted = counted_exit(scope.view, loop.loop, computed=loop not in nest.dimensions)
        if isinstance(counted, str) or not counted.top_tested or counted.tests_next:
            counted = None
        if loop in nest.dimensions:
            grid[loop] = counted
            continue
        if counted is not None:
            found = _counting(loop, counted, loop is nest.loop)
            if found is not None:
                counting[loop] = found
    return LoopKinds(headers, grid, counting)


def _counting(loop: LoopContext, counted: CountedLoop, is_outermost: bool) -> Counting | None:
    phi, inside = counted.counter.phi, set(loop.blocks)
    if any(u.block not in inside for u in phi.instruction_users()) and not is_outermost:
        return None
    following = counted.counter.following
    if any(u.block not in inside for u in following.instruction_users()) and not is_outermost:
        return None
    test = counted.header.terminator.operands[0]
    bound = counted.bound
    parts = set(_parts(bound, inside))
    if parts and not is_outermost and not (len(parts) == 1 and _is_moved(bound)):
        return None
    # What the header computes beside the test would have to run once more than the body.
    needed = {test, *parts}
    if any(u not in needed for p in parts for u in p.instruction_users()):
        return None
    computed = set(counted.header.non_phis()) - {counted.header.terminator}
    if computed - needed or not isinstance(test, Instruction) or len(list(test.instruction_users())) != 1:
        return None
    beyond = _STRICT.get(counted.predicate)
    if beyond is None:
        return None
    if beyond and not isinstance(bound, ConstInt) and phi.type.bits > 32:  # type: ignore[attr-defined]
        # The bound could be the greatest number that there is.
        return None
    step = counted.counter.step
    return Counting(phi, counted.counter.start, bound, beyond, step, counted.predicate.startswith("u"))


def _parts(bound: Value, inside: set[BasicBlock]) -> Iterator[Instruction]:
    """What computes a bound in a loop."""
    for part in slice_of(bound, lambda i: i.block in inside):
        if isinstance(part, Instruction) and part.block in inside:
            yield part


def _is_moved(bound: Value) -> bool:
    """Whether a bound is an argument and a number, which stand where the loop begins."""
    assert isinstance(bound, Instruction)
    return all(isinstance(o, Argument | ConstInt) for o in bound.operands)
