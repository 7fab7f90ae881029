"""Choices that a thread waits long for, and looks somewhere else by: they are better branches.

    node = 2*node + 2 if sqrt((points[node] - x)**2) > radius[node] else 2*node + 1

What is loaded at a place decides, after some arithmetic, which place the next iteration loads from. A choice between
two numbers waits for all of that. A branch is foreseen, and the next iteration begins at once; where it is not, the
processor goes back, and loses what it takes to see that and some more. If every other one is foreseen, that is half of
both: less than to wait always, where the arithmetic takes longer than to go back.
"""

from __future__ import annotations

from weft.costs.constants import constants_of
from weft.costs.instructions import instruction_cost
from weft.graph.cfg import reverse_postorder
from weft.graph.loops import Loop
from weft.ir import ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.types import IntType
from weft.machine.targets import Isa

_LONGER = 1.5
"""How many times as long as going back a choice must wait to be a branch."""

_WIDTH = 32
_OF_INTEGERS = {**dict.fromkeys(("icmp", "zext", "sext", "trunc", "getelementptr"), 1.0), "mul": 3.0}
_DIVISIONS = frozenset(("udiv", "urem", "sdiv", "srem"))


def long_choices(loop: Loop, view: CFGView, isa: Isa) -> dict[Instruction, float]:
    """The choices of a loop that wait so long for where to look next, with the cycles that each waits."""
    if loop.is_irreducible or len(loop.latches) != 1:
        return {}
    latch = view.blocks[loop.latches[0]]
    least = _LONGER * constants_of(isa).branch_miss
    found: dict[Instruction, float] = {}
    for phi in view.blocks[loop.header].phis():
        if not isinstance(phi.type, IntType):
            continue
        waiting = waiting_for_loads(phi, loop, view, isa)
        for value in chosen_from(phi.incoming_value(latch), loop, view):
            waits = waiting.get(value.operands[0], 0.0)
            if waits >= least and (not _of_constants(value) or sum_of(value) is not None):
                found[value] = max(waits, found.get(value, 0.0))
    return found


def sum_of(choice: Instruction) -> Instruction | None:
    """The only use of a choice between two constants, if that adds another number to it, or subtracts one of both.

    So ``2*node + (1 + far)`` of a compiler that has no branches is written.
    """
    users = list(choice.instruction_users())
    if not _of_constants(choice) or len(users) != 1 or users[0].op not in ("add", "sub"):
        return None
    return None if all(v is choice or isinstance(v, ConstInt) for v in users[0].operands) else users[0]


def _of_constants(choice: Instruction) -> bool:
    return all(isinstance(v, ConstInt) for v in choice.operands[1:])


def latency_alone(instruction: Instruction, isa: Isa) -> float:
    """Cycles until the result of an instruction of one thread is there; a load finds it in the cache."""
    op = instruction.op
    if op == "load":
        return 5.0
    if op in _DIVISIONS and isinstance(instruction.operands[1], ConstInt):
        # A product and shifts; by a power of two shifts alone.
        alone = instruction.operands[1].value.bit_count() == 1
        return (1.0 if alone else 4.0) if op in ("udiv", "urem") else (3.0 if alone else 5.0)
    if op == "call":
        op = ".".join((instruction.callee_name or "").split(".")[:2])
    known = instruction_cost(op, _WIDTH, 1, isa).latency
    # The latencies of comparisons, conversions and products of integers are those of vectors.
    return _OF_INTEGERS.get(op, known)


def waiting_for_loads(phi: Instruction, loop: Loop, view: CFGView, isa: Isa) -> dict[Value, float]:
    """What is computed from loads at places that a φ says, and how long after the φ it is there at the least."""
    depth: dict[Value, float] = {phi: 0.0}
    loaded: dict[Value, float] = {}
    order = [number for number in reverse_postorder(view.cfg.succs) if number in loop.blocks]
    # What a loop inside hands on to its next iteration is seen the second time.
    for number in (*order, *order):
        for i in view.blocks[number].instructions:
            known = [depth[v] for v in i.operands if v in depth]
            if not known or i is phi or (i.is_phi and number == loop.header):
                continue
            depth[i] = max(known) + (0.0 if i.is_phi else latency_alone(i, isa))
            if i.op == "load" or any(v in loaded for v in i.operands):
                loaded[i] = depth[i]
    return loaded


def chosen_from(value: Value, loop: Loop, view: CFGView) -> list[Instruction]:
    """The choices in a loop, but not in one inside of it, that say what a number becomes."""
    found: list[Instruction] = []
    seen: set[Value] = set()
    work = [value]
    while work:
        v = work.pop()
        block = v.block if isinstance(v, Instruction) else None
        if (
            v in seen
            or not isinstance(v, Instruction)
            or block is None
            or view.index[block] not in loop.blocks
        ):
            continue
        seen.add(v)
        if v.op == "select":
            found.append(v)
            work += v.operands[1:]
        elif (v.is_phi and view.index[block] != loop.header) or v.op in (
            "add",
            "sub",
            "shl",
            "or",
            "sext",
            "zext",
        ):
            work += v.operands
    return found
