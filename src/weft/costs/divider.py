"""What stands beside quotients and roots, whose divider works by itself: cycles of the other vector units.

A loop of vectors takes as long as the busier one of both. Counted are instructions of the text, each with what
`weft.costs.instructions` gives it, but for gathers and calls.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.costs.instructions import INSTRUCTION_COSTS, MATH_CALL
from weft.graph.loops import Loop, loop_forest
from weft.ir import Function, Instruction
from weft.ir.cfg_view import cfg_of
from weft.ir.types import FloatType, VectorType


def regions(function: Function) -> Iterator[tuple[list[Instruction], bool]]:
    """Instructions of each loop, less those of loops in it, and of what is in none; whether it is a loop."""
    view = cfg_of(function)
    forest = loop_forest(view.cfg)
    parts: dict[Loop | None, list[Instruction]] = {}
    for number, block in enumerate(view.blocks):
        parts.setdefault(forest.innermost[number], []).extend(block.instructions)
    for loop, instructions in parts.items():
        yield instructions, loop is not None


def vector_cycles(instruction: Instruction, lanes: int, alone: FloatType | None = None) -> float:
    """About how long vector units need for an instruction beside quotients, where registers have so many lanes.

    Single numbers of type `alone` count as a register each, as vector units compute them, too, and as loops over them
    may become such over vectors in LLVM.
    """
    type = instruction.operands[0].type if instruction.op in ("store", "fcmp", "icmp") else instruction.type
    if not isinstance(type, VectorType) and (alone is None or type != alone):
        return 0.0
    count = type.count if isinstance(type, VectorType) else 1
    registers = max(1.0, count / lanes)
    if instruction.op != "call":
        cost = INSTRUCTION_COSTS.get(instruction.op)
        return registers * (cost.cycles if cost is not None else 0.5)
    name = instruction.callee_name or ""
    if not name.startswith("llvm."):
        return registers * MATH_CALL.cycles
    if name.startswith(("llvm.masked.gather", "llvm.masked.scatter")):
        return float(count)
    cost = INSTRUCTION_COSTS.get(".".join(name.split(".")[:2]))
    return registers * (cost.cycles if cost is not None else 1.0)
