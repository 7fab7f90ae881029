"""Which numbers of a loop stay as they are in lanes that have left it: those that go to zero in it.

A lane that has left a loop goes on computing until the last one leaves, and nobody reads its numbers. Where lanes
leave when a number has become small, as an error or what is left of light, its further rounds make it smaller yet,
until products of it are subnormal; and many processors take some hundred cycles for an instruction with a subnormal
number in any lane.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.ir import BasicBlock, ConstFloat, ConstInt, Instruction, Value
from weft.ir.types import FloatType
from weft.transform.loops.loop_shape import LoopShape

_LESS, _GREATER = ("olt", "ole", "ult", "ule"), ("ogt", "oge", "ugt", "uge")
_SMALL = 1.0
"""Constants below say that a number has become small. Guess."""

_DEEPEST = 6
"""Conditions and operations in each other that are looked through."""


def shrinking_phis(loop: LoopShape) -> list[Instruction]:
    """The header's φs of floats that decide whether a number is small enough for a thread to leave `loop`."""
    tested = [
        value
        for source, target in loop.divergent_exits
        if source.terminator.op == "br" and len(source.successors) > 1
        for value in _small(source.terminator.operands[0], source.terminator.blocks[0] is target, _DEEPEST)
    ]
    found = _computed_from(tested, loop.blocks)
    return [phi for phi in loop.header.phis() if phi in found and isinstance(phi.type, FloatType)]


def _small(condition: Value, holds: bool, depth: int) -> Iterator[Value]:
    """The numbers that are small where threads leave, for which `condition` has to hold, or not to."""
    if not isinstance(condition, Instruction) or not depth:
        return
    if condition.op in ("and", "or", "select", "xor"):
        turned = condition.op == "xor" and any(
            isinstance(v, ConstInt) and v.value == 1 for v in condition.operands
        )
        for part in condition.operands:
            yield from _small(part, holds != turned, depth - 1)
    elif condition.op == "fcmp" and condition.predicate in (*_LESS, *_GREATER):
        number, bound = condition.operands
        if (condition.predicate in _LESS) != holds:
            number, bound = bound, number
        if isinstance(bound, ConstFloat):
            if 0 < bound.value < _SMALL:
                yield number
        elif _is_size(number, depth):
            yield number


def _is_size(value: Value, depth: int) -> bool:
    """Whether a value is how large something is, whatever its sign: a bound of it is a tolerance."""
    if not isinstance(value, Instruction) or not depth:
        return False
    if value.op in ("fpext", "fptrunc"):
        return _is_size(value.operands[0], depth - 1)
    if value.op == "fmul":
        return value.operands[0] is value.operands[1]
    if value.op == "fadd":
        return all(_is_size(each, depth - 1) for each in value.operands)
    return (value.callee_name or "").startswith(("llvm.fabs.", "llvm.sqrt."))


def _computed_from(values: list[Value], inside: set[BasicBlock]) -> set[Instruction]:
    """The instructions of some blocks that values are computed from, in this round or in earlier ones."""
    found: set[Instruction] = set()
    work = values
    while work:
        value = work.pop()
        if isinstance(value, Instruction) and value.block in inside and value not in found:
            found.add(value)
            work.extend(value.operands)
    return found
