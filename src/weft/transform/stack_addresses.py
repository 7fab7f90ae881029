"""Addresses in stack objects are computed where they are used.

They cost nothing, and LLVM moves them out of loops, where they keep an object that is made anew in each iteration from
being recognized as such (`weft.analysis.loops.parallel_loops.private_objects`).

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: a place in a stack object is computed in the
block that uses it, for a φ at the end of the edge. Preserves the program under FR.
"""

from __future__ import annotations

from weft.ir import BasicBlock, Builder, Function, Instruction


def sink_stack_addresses(function: Function) -> None:
    """Let each user of a place in a stack object have an address of its own."""
    # Of an address that is computed from another one, the last first.
    for address in reversed([i for i in function.instructions() if _is_place(i)]):
        for user in list(address.instruction_users()):
            if user.is_phi:
                _sink_into_phi(user, address)
            elif user.block is not address.block:
                user.replace_operand(address, Builder(before=user).insert(address.clone()))
        if not address.users:
            address.erase()


def _sink_into_phi(phi: Instruction, address: Instruction) -> None:
    made: dict[BasicBlock, Instruction] = {}
    for index, (value, source) in enumerate(list(phi.incoming())):
        if value is address and source is not address.block:
            if source not in made:
                made[source] = Builder(before=source.terminator).insert(address.clone())
            phi.set_operand(index, made[source])


def _is_place(value: Instruction) -> bool:
    while value.op == "getelementptr" and isinstance(value.operands[0], Instruction):
        value = value.operands[0]
        if value.op == "alloca":
            return True
    return False
