"""Parameters for the sizes of arrays that kernels only update, and that have no extents of their own (C dialects).

Where threads update arrays in copies (`weft.analysis.memory.updated_arrays`) it has to be known how large these are. A
launcher that gets arrays, not addresses, knows: one more parameter for each such array has its bytes. It is 0 where
there may be more of what the array is a part of, as the kernel may update that, too.

Precondition: parameters are scalars and pointers. Postcondition: those for sizes are the last ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.function import Function
from weft.ir.instruction import Instruction
from weft.ir.types import I64, PointerType
from weft.ir.values import Argument, Value

_ADDRESSES = {"getelementptr", "load", "addrspacecast"}
"""What makes an address of one, or finds one."""


def append_sizes(kernel: Function) -> None:
    """Give a kernel parameters for the bytes of arrays that it may only update."""
    for argument in list(kernel.args):
        if isinstance(argument.type, PointerType) and _may_be_updated(argument):
            kernel.append_parameter(I64, _title(argument))


def sized_parameters(arguments: Sequence[Argument]) -> dict[int, int]:
    """The numbers of parameters that have the bytes of others, by the numbers of these."""
    numbers = {a.name: k for k, a in enumerate(arguments)}
    titles = [numbers.get(_title(a)) for a in arguments]
    return {k: number for k, number in enumerate(titles) if number is not None}


def updates_alone(argument: Argument) -> set[Instruction]:
    """The atomic operations on what an argument leads to; none if addresses computed from it have other uses."""
    updates: set[Instruction] = set()
    pending: list[Value] = [argument]
    while pending:
        pointer = pending.pop()
        for user in pointer.instruction_users():
            if user.op == "getelementptr" and user.operands[0] is pointer:
                pending.append(user)
            elif user.op == "atomicrmw" and user.operands[1] is not pointer:
                updates.add(user)
            elif user.op != "icmp":
                return set()
    return updates


def _may_be_updated(argument: Argument) -> bool:
    """Whether an atomic operation is on what an argument leads to, which may be in a variable of its own."""
    seen: set[Value] = {argument}
    pending: list[Value] = [argument]
    while pending:
        value = pending.pop()
        for user in value.instruction_users():
            if user.op == "atomicrmw" and user.operands[0] is value:
                return True
            if user.op == "store" and user.operands[0] is value:
                found = user.operands[1]
            else:
                found = user if user.op in _ADDRESSES and user.operands[0] is value else None
            if found is not None and found not in seen:
                seen.add(found)
                pending.append(found)
    return False


def _title(argument: Argument) -> str:
    return f"{argument.name}.bytes"
