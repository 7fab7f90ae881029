"""How much a loop does: executions of its blocks, floating-point operations, and bytes, as expressions.

The number of times that a block runs in a loop is the sum of the trip counts of the loops in between: ``Σ_i (n - i)``
is a polynomial again (Faulhaber). Where a trip count is no polynomial of the iterations around, its greatest value
stands for it, and the number is a bound. Conditions are taken to hold.

Bytes are those of the sections, each counted once: the least traffic that there can be, hence the operations for each
byte that a roofline asks for.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.scope import LoopContext, Scope
from weft.analysis.sequential.sections import Section
from weft.analysis.symbolic.expression import ONE, ZERO, Expression, floor_division
from weft.analysis.symbolic.extent import bound_of
from weft.analysis.symbolic.facts import Facts
from weft.ir import BasicBlock, Instruction
from weft.ir.types import FloatType, VectorType

_OPERATIONS = {"fadd": 1, "fsub": 1, "fmul": 1, "fdiv": 1, "frem": 1, "fneg": 1}
_FUSED = ("llvm.fma.", "llvm.fmuladd.")


class Count(Struct, frozen=True):
    """A number of executions, operations or bytes.

    Parameters
    ----------
    value
        The number; None where it is not known.
    is_exact
        Whether it is no bound, conditions apart.
    """

    value: Expression | None
    is_exact: bool = True

    def times(self, number: int) -> Count:
        """So many times as much."""
        return Count(None if self.value is None else self.value * number, self.is_exact)

    def plus(self, other: Count) -> Count:
        """The sum."""
        if self.value is None or other.value is None:
            return Count(None, False)
        return Count(self.value + other.value, self.is_exact and other.is_exact)


NOTHING = Count(ZERO)


def executions(accesses: Accesses, scope: Scope, block: BasicBlock, loops: Iterable[LoopContext]) -> Count:
    """How often a block runs, counted over the iterations of `loops`, which are all around it.

    Parameters
    ----------
    accesses
        The program's accesses.
    scope, block
        The block, in its context.
    loops
        The loops to count, innermost first.
    """
    made = accesses.reconstruction
    facts = made.facts(scope, block)
    total, exact = ONE, True
    for loop in loops:
        trips = made.trip_count(loop)
        if trips is None:
            return Count(None, False)
        varies = any(s.loop is not None for s in trips.symbols())
        # A loop that may have no iterations in some of those around it counts 0 there, and not less.
        trips = (made.facts(loop.scope, loop.header) if varies else facts).simplified(trips)
        added = _sum_over(total, loop, trips)
        if added is None:
            most = bound_of(total, lambda s, loop=loop: loop.contains(s.loop), facts, upper=True)
            if most is None:
                return Count(None, False)
            added, exact = most * trips, False
        total = added
    return Count(total, exact)


def _sum_over(value: Expression, loop: LoopContext, trips: Expression) -> Expression | None:
    """``Σ value`` for iterations from 0 to ``trips - 1``, of a polynomial up to the second degree."""
    parts = value.coefficients(loop.iteration)
    if len(parts) > 3 or any(loop.contains(s.loop) for p in parts for s in p.symbols()):
        return None
    total = parts[0] * trips
    if len(parts) > 1:
        total = total + parts[1] * floor_division(trips * (trips - 1), 2)
    if len(parts) > 2:
        squares = trips * (trips - 1) * (trips * 2 - 1)
        total = total + parts[2] * floor_division(squares, 6)
    return total


def loops_between(loop: LoopContext | None, outermost: LoopContext) -> list[LoopContext]:
    """The loops from an inner one to `outermost`, both included."""
    found: list[LoopContext] = []
    while loop is not None and outermost.contains(loop):
        found.append(loop)
        loop = loop.parent
    return found


def operations_of(accesses: Accesses, loop: LoopContext) -> Count:
    """Floating-point operations of one run of a loop; a fused multiply-add is two."""
    total = NOTHING
    for block in loop.blocks:
        total = total.plus(_in_block(accesses, loop.scope, block, loop))
    return total


def _in_block(accesses: Accesses, scope: Scope, block: BasicBlock, outermost: LoopContext) -> Count:
    number, total = 0, NOTHING
    for instruction in block.instructions:
        number += _operations(instruction)
        child = scope.child(instruction) if instruction.op == "call" else None
        if child is not None:
            for inner in child.function.blocks:
                total = total.plus(_in_block(accesses, child, inner, outermost))
    if number:
        often = executions(accesses, scope, block, loops_between(scope.loop_of(block), outermost))
        total = total.plus(often.times(number))
    return total


def _operations(instruction: Instruction) -> int:
    type = instruction.type
    lanes = type.count if isinstance(type, VectorType) else 1
    element = type.element if isinstance(type, VectorType) else type
    if not isinstance(element, FloatType):
        return 0
    if instruction.op == "call":
        name = instruction.callee_name or ""
        return lanes * (2 if name.startswith(_FUSED) else 1 if name.startswith("llvm.") else 0)
    return lanes * _OPERATIONS.get(instruction.op, 0)


def bytes_of(sections: Iterable[Section], facts: Facts) -> Count:
    """The bytes of some sections, each once."""
    total = NOTHING
    for section in sections:
        if section.low is None or section.end is None:
            return Count(None, False)
        size = facts.simplified(section.end - section.low)
        total = total.plus(Count(size, False))
    return total


def has_doubles(loop: LoopContext) -> bool:
    """Whether a loop computes with numbers of 64 bits and more."""
    types = (i.type for b in loop.blocks for i in b.instructions if _operations(i))
    elements = (t.element if isinstance(t, VectorType) else t for t in types)
    return any(isinstance(e, FloatType) and e.bits >= 64 for e in elements)
