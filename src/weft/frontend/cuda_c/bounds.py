"""Arithmetic of ids that cannot wrap around: CUDA's are 32 bits wide and unsigned, for which C promises nothing.

Precondition: variables are in registers. Postcondition: sums, differences and products of ids, sizes and constants are
computed in 64 bits, without wrapping, where their bounds tell that 32 bits hold them; users have them truncated.
A position in the grid is then a stride apart from thread to thread in all lanes, as in OpenCL C.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.types import I32, I64

_NO_WRAP = ("nuw", "nsw")
_MOST = (1 << 31) - 1


class Bounded(Struct, frozen=True):
    """A number of 32 bits, as one of 64.

    Parameters
    ----------
    wide
        The number.
    low, high
        Its least and greatest value, of which the least is not negative.
    """

    wide: Value
    low: int
    high: int


_RESULTS: dict[str, Callable[[Bounded, Bounded], tuple[int, int]]] = {
    "add": lambda a, b: (a.low + b.low, a.high + b.high),
    "sub": lambda a, b: (a.low - b.high, a.high - b.low),
    "mul": lambda a, b: (a.low * b.low, a.high * b.high),
    "shl": lambda a, b: (a.low << b.low, a.high << min(b.high, 32)),
}


def widen_bounded(function: Function, known: dict[Value, Bounded]) -> None:
    """Compute in 64 bits what `known` ids and sizes make without wrapping."""
    for instruction in list(function.instructions()):
        if instruction.op not in _RESULTS or instruction.type is not I32:
            continue
        a, b = (_bounded(operand, known) for operand in instruction.operands)
        if a is None or b is None or (isinstance(a.wide, ConstInt) and isinstance(b.wide, ConstInt)):
            continue
        low, high = _RESULTS[instruction.op](a, b)
        if low >= 0 and high <= _MOST:
            narrow = _widened(instruction, a, b)
            known[narrow] = Bounded(narrow.operands[0], low, high)


def _widened(instruction: Instruction, a: Bounded, b: Bounded) -> Instruction:
    builder = Builder(before=instruction)
    builder.loc = instruction.loc
    wide = builder.binary(instruction.op, a.wide, b.wide, _NO_WRAP)
    narrow = builder.cast("trunc", wide, I32, _NO_WRAP)
    replace_and_erase(instruction, narrow)
    return narrow


def _bounded(value: Value, known: dict[Value, Bounded]) -> Bounded | None:
    if isinstance(value, ConstInt):
        return Bounded(ConstInt(I64, value.signed), value.signed, value.signed) if value.signed >= 0 else None
    return known.get(value)
