"""What a loop costs as it is, and where it runs in strips, part by part (`weft.analysis.loops.loop_parts`).

A loop in order takes as long as its instructions, or as what it hands on from iteration to iteration, whichever is
longer: a processor does the rest meanwhile. So what takes little beside a long chain is free already, and a loop of its
own for it, in lanes, gains nothing. Parts in lanes take what their vector instructions do. Each value that is handed
from one loop to another one is stored and loaded, by both as they run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from weft.analysis.loops.loop_parts import Assignment, Component, LoopBody
from weft.costs.instructions import INSTRUCTION_COSTS, MATH_CALL, UNKNOWN, Cost
from weft.ir import Instruction
from weft.ir.types import FloatType, IntType
from weft.machine.targets import Isa
from weft.machine.vecmath import math_function

_LOOP = 0.5
"""Cycles of an iteration of one more loop, for its counter and its branch. Guess."""

_FORWARDED = 4.0
"""Cycles from a store to a load of the same bytes."""

_UNITS = 4.0
"""Instructions of integers and of addresses that are done in a cycle."""

_LOAD, _STORE = 0.5, 1.0
_SCATTERED = 1.5
"""Cycles of a lane of a gather, or of a scatter. Guess."""

_TAKEN_OUT = 2.0
"""Cycles to take a lane's operands out of registers, and put its result back, as `instruction_cost` has it."""

_VECTOR_BITS = 256
"""Many cores take registers of 512 bits in two passes: what lanes gain is counted for as many as this."""


def cycles_in_order(body: LoopBody, components: Iterable[Component]) -> float:
    """Cycles of an iteration of the loop as it is."""
    return max(sum(map(_alone, body.order)), _waits(body, components))


def cycles_in_parts(
    body: LoopBody, placed: Assignment, isa: Isa, scattered: Collection[Instruction], *, vector_math: bool
) -> float:
    """Cycles of an iteration where each part has a loop of its own.

    Parameters
    ----------
    body, placed
        The loop, and which part each of its components is in.
    isa
        What lanes there are.
    scattered
        Accesses whose neighbours in time are none in memory.
    vector_math
        Whether lanes call mathematical functions together.
    """
    parts: dict[int, list[Component]] = {}
    for component, number in placed.items():
        parts.setdefault(number, []).append(component)
    slices = {n: body.slice([i for c in members for i in c.nodes]) for n, members in parts.items()}
    handed = {value for part in slices.values() for value in part.given}
    total = 0.0
    for number, members in parts.items():
        part = slices[number]
        stored = [i for c in members for i in c.nodes if i in handed]
        if number % 2:
            busy = sum(map(_alone, part.kept)) + _STORE * len(stored) + _LOAD * len(part.given) + _LOOP
            total += max(busy, _waits(body, members))
            continue
        total += sum(_LOAD / _lanes(i, isa) for i in part.given) + sum(
            _STORE / _lanes(i, isa) for i in stored
        )
        total += sum(_in_lanes(i, isa, scattered, vector_math) for i in part.kept) + _LOOP / _lanes(None, isa)
    return total


def _bits(instruction: Instruction) -> int:
    type = instruction.operands[0].type if instruction.op in ("store", "icmp", "fcmp") else instruction.type
    return type.bits if isinstance(type, IntType | FloatType) and type.bits > 1 else 8


def _lanes(instruction: Instruction | None, isa: Isa) -> int:
    bits = 64 if instruction is None else _bits(instruction)
    return max(1, min(isa.vector_bits, _VECTOR_BITS) // bits)


def _stem(instruction: Instruction) -> str:
    return (
        ".".join((instruction.callee_name or "").split(".")[:2])
        if instruction.op == "call"
        else instruction.op
    )


def _cost(instruction: Instruction) -> Cost:
    if instruction.op == "call" and math_function(instruction.callee_name or "") is not None:
        return INSTRUCTION_COSTS.get(_stem(instruction), MATH_CALL)
    return INSTRUCTION_COSTS.get(_stem(instruction), UNKNOWN)


def _alone(instruction: Instruction) -> float:
    """Cycles of an instruction of one iteration."""
    op = instruction.op
    if op in ("load", "store"):
        return _LOAD if op == "load" else _STORE
    if instruction.is_phi or op in ("getelementptr", "sext", "zext"):
        return 0.0
    known = _cost(instruction).cycles
    return known if known > 1 or isinstance(instruction.type, FloatType) else 1 / _UNITS


def _in_lanes(
    instruction: Instruction, isa: Isa, scattered: Collection[Instruction], vector_math: bool
) -> float:
    """Cycles of an instruction for each lane of a group."""
    op, lanes = instruction.op, _lanes(instruction, isa)
    if op in ("load", "store"):
        return _SCATTERED if instruction in scattered else (_LOAD if op == "load" else _STORE) / lanes
    if instruction.is_phi or op == "getelementptr":
        return 0.0
    cost = _cost(instruction)
    if cost is MATH_CALL:
        return cost.cycles / lanes if vector_math else cost.cycles + _TAKEN_OUT
    if cost.per_lane:
        return cost.cycles + _TAKEN_OUT
    return cost.cycles / lanes


def _waits(body: LoopBody, components: Iterable[Component]) -> float:
    """The longest chain of operations from one iteration to the next."""
    return max((_chain(body, c) for c in components if c.in_order), default=0.0)


def _chain(body: LoopBody, component: Component) -> float:
    inside = set(component.nodes)
    depth: dict[Instruction, float] = {}
    for node in component.nodes:
        begins = node.is_phi and node.block is body.loop.header
        before = [] if begins else [depth[o] for o in body.edges[node] if o in inside and o in depth]
        if node.op == "store":
            own = _FORWARDED
        else:
            own = 5.0 if node.op == "load" else 0.0 if node.is_phi else _cost(node).latency
        depth[node] = max(before, default=0.0) + own
    return max(depth.values(), default=0.0)
