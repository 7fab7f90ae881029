"""Thread positions from the linear number of a thread in its work-group.

Precondition: ids are parameters (`weft.transform.groups.work_items`). Postcondition: parameter ``tid.x`` is the linear
number ``x + bx*(y + by*z)``, ``tid.y`` and ``tid.z`` are not read, and the three positions are computed from it. Lane
groups of consecutive linear numbers, as warps are, then are lane groups along the one parameter ``tid.x``. Preserves
the program under FR and OBL.
"""

from __future__ import annotations

from weft.ir import Argument, Builder, ConstFloat, Function, Value
from weft.ir.types import F32, I32, I64
from weft.transform.groups.work_items import WorkItems


def number_linearly(function: Function) -> None:
    """Compute the positions that `function` reads from its parameter ``tid.x``, taken as the linear number."""
    items = WorkItems.of(function)
    tid = items.tid
    if not any(a.is_used for a in tid):
        return
    users = [(a, user) for a in tid for user in a.instruction_users()]
    builder = Builder.after_phis(function.entry)
    row, x = _divide(builder, tid[0], items.lsize[0])
    z, y = _divide(builder, row, items.lsize[1])
    positions: dict[Argument, Value] = dict(zip(tid, (x, y, z), strict=True))
    for argument, user in users:
        user.replace_operand(argument, positions[argument])


def _divide(builder: Builder, dividend: Value, divisor: Value) -> tuple[Value, Value]:
    """Quotient and remainder of numbers below 2048, by divisors up to 1024.

    Vectors have no integer division. The quotient of `dividend` + 1/2 is at least 2^-11 away from every integer, so
    that rounding it to single precision changes no digit before the point.
    """
    narrow = builder.cast("trunc", dividend, I32)
    half = ConstFloat.of(F32, 0.5)
    above = builder.binary("fadd", builder.cast("uitofp", narrow, F32), half)
    below = builder.cast("uitofp", builder.cast("trunc", divisor, I32), F32)
    quotient = builder.cast("fptoui", builder.binary("fdiv", above, below), I32)
    wide = builder.cast("zext", quotient, I64)
    return wide, builder.binary("sub", dividend, builder.binary("mul", wide, divisor))
