"""Loops each iteration of which writes an element of its own, and reads no other one of that array, as is seen at once.

    y[i] = x[i - 1] + x[i + 1]

A user may promise a loop to be parallel that is so only because of a guard: ``if i == k: o[0] += 1``. Where the guard
becomes bounds, it is no longer seen that few iterations come there. Of the loops here nothing has to be promised that a
guard could be the reason for.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.analysis.loops.counted_loops import CountedLoop
from weft.ir import Instruction, Value
from weft.ir.effects import may_read, may_write

_CASTS = ("sext", "zext", "trunc")


def writes_move(loop: CountedLoop) -> bool:
    """Whether stores of a loop are such, and it has no other effect."""
    inside = [i for block in loop.blocks for i in block.instructions]
    stores = [i for i in inside if i.op == "store"]
    if any(may_read(i) or may_write(i) for i in inside if i.op not in ("store", "load")):
        return False
    addresses = {store.operands[1] for store in stores}
    if not all(_has_moving_index(loop, address) for address in addresses):
        return False
    written = {_root(loop, address) for address in addresses}
    read = (i.operands[0] for i in inside if i.op == "load")
    # One address for each array: of two, one may be another iteration's.
    return len(written) == len(addresses) and all(
        a in addresses or _root(loop, a) not in written for a in read
    )


def _is_inside(loop: CountedLoop, value: Value) -> bool:
    return isinstance(value, Instruction) and value.block in loop.blocks


def _steps(loop: CountedLoop, address: Value) -> Iterator[Instruction]:
    """What computes an address in the loop, from the last step on."""
    while isinstance(address, Instruction) and _is_inside(loop, address) and address.op == "getelementptr":
        yield address
        address = address.operands[0]


def _root(loop: CountedLoop, address: Value) -> Value:
    """What an address is computed from in the loop."""
    for step in _steps(loop, address):
        address = step.operands[0]
    return address


def _has_moving_index(loop: CountedLoop, address: Value) -> bool:
    """Whether one index moves with the counter and the others stay."""
    indices = [
        index for step in _steps(loop, address) for index in step.operands[1:] if _is_inside(loop, index)
    ]
    return len(indices) == 1 and not _is_inside(loop, _root(loop, address)) and _moves(loop, indices[0])


def _moves(loop: CountedLoop, value: Value) -> bool:
    """Whether a number is the counter, but for what is added to it or what it is multiplied by."""
    while value is not loop.counter.phi:
        if not isinstance(value, Instruction) or value.op not in (*_CASTS, "add", "sub", "mul", "shl"):
            return False
        moving = [operand for operand in value.operands if _is_inside(loop, operand)]
        if len(moving) != 1:
            return False
        (value,) = moving
    return True
