"""Indices of a proved loop that do not count from the end are no longer asked for that: ``i + (i < 0 ? n : 0)``.

That a flat index such as ``i * m + j`` is not negative is known by conditions on the way, or tested in front of the
nest. LLVM does not know that its sums do not wrap around, which is tested there, too: so the questions would stay, and
make accesses to neighbours ones that may be anywhere.

Precondition: a loop that has been chosen, in the function of which that was found. Postcondition: what is replaced has
the same value wherever the chosen tests hold, which is to be so wherever the loop runs. Preserves the program under FR.
"""

from __future__ import annotations

from weft.analysis.loops.along_rows import counts_from_the_end
from weft.analysis.sequential.accesses import Accesses
from weft.ir import Instruction
from weft.ir.types import IntType
from weft.passes.nests.chosen_loops import Chosen


def front_indices(accesses: Accesses, chosen: Chosen) -> list[Instruction]:
    """The selects of a loop that are what they are for numbers that are not negative, if its tests hold."""
    made, scope, tested = accesses.reconstruction, chosen.loop.scope, set(chosen.assumptions)
    found: list[Instruction] = []
    for block in chosen.loop.blocks:
        for value in block.instructions:
            if value.op != "select" or not isinstance(value.type, IntType):
                continue
            if not counts_from_the_end(value.operands[0]):
                continue
            usual = made.operand(scope, value, value.operands[2])
            if made.of(scope, value) == usual and tested.issuperset(
                accesses.assumed_by(scope, [value], block)
            ):
                found.append(value)
    return found
