"""Floats that φs hand on as integers of their bits are handed on as floats.

    φ i32 [bitcast float a], [bits of 1.0]          φ float [a], [1.0]; its bits where they are asked for

LLVM makes such φs where the bits are used behind a loop, as by shuffles of PTX. What a loop hands on is then another
value than what it goes on with in its next round, and loops that were unrolled do not look like it.

Precondition: valid P-LLVM without predicates, shadows and guards. Postcondition: no φs of integers are left that take
bits of floats of one type, numbers, and each other alone. Preserves the program under FR and OBL.
"""

from __future__ import annotations

from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.constants import ConstFloat, Poison
from weft.ir.types import FloatType, IntType


def hand_on_floats(function: Function) -> int:
    """Let such φs of a function be of floats; how many there were."""
    seen: set[Instruction] = set()
    count = 0
    for phi in [i for block in function.blocks for i in block.phis()]:
        if phi in seen or not isinstance(phi.type, IntType):
            continue
        web = _web(phi)
        seen |= set(web)
        type = _type_of(web)
        if type is not None:
            _rebuild(web, type)
            count += len(web)
    if count:
        remove_dead_instructions(function)
    return count


def _web(phi: Instruction) -> list[Instruction]:
    """The φs that hand a number on to each other, with one of them."""
    found = {phi: None}
    work = [phi]
    while work:
        at = work.pop()
        for other in (*at.operands, *at.instruction_users()):
            if isinstance(other, Instruction) and other.is_phi and other not in found:
                found[other] = None
                work.append(other)
    return list(found)


def _type_of(web: list[Instruction]) -> FloatType | None:
    """Of which type the floats are whose bits come to φs; None where something else does."""
    inside: set[Value] = set(web)
    types: set[FloatType] = set()
    for value in (v for phi in web for v in phi.operands if v not in inside):
        if isinstance(value, Instruction) and value.op == "bitcast":
            source = value.operands[0].type
            if not isinstance(source, FloatType):
                return None
            types.add(source)
        elif not isinstance(value, (ConstInt, Poison)):
            return None
    if len(types) != 1:
        return None
    (type,) = types
    numbers = [v for phi in web for v in phi.operands if isinstance(v, ConstInt)]
    # Bits of what is no number are kept by nobody but integers.
    is_known = all((bits := ConstFloat(type, v.value).value) == bits for v in numbers)
    return type if is_known else None


def _rebuild(web: list[Instruction], type: FloatType) -> None:
    floats: dict[Value, Instruction] = {}
    for phi in web:
        assert phi.block is not None
        floats[phi] = Builder(phi.block, phi).phi(type, phi.name)
        floats[phi].loc = phi.loc
    for phi in web:
        assert phi.block is not None
        for value, block in phi.incoming():
            floats[phi].add_incoming(_as_float(value, type, floats), block)
    for phi in web:
        assert phi.block is not None
        bits = Builder.after_phis(phi.block).cast("bitcast", floats[phi], phi.type)
        for user in list(phi.instruction_users()):
            if user in floats:
                continue
            if user.op == "bitcast" and user.type == type:
                user.replace_all_uses(floats[phi])
            else:
                user.replace_operand(phi, bits)
    for phi in web:
        phi.replace_all_uses(Poison(phi.type))
        phi.erase()


def _as_float(value: Value, type: FloatType, floats: dict[Value, Instruction]) -> Value:
    if value in floats:
        return floats[value]
    if isinstance(value, ConstInt):
        return ConstFloat(type, value.value)
    if isinstance(value, Instruction):
        return value.operands[0]
    return Poison(type)
