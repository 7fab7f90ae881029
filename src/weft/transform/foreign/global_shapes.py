"""Global variables with a shape: each lane has its own, some bytes behind that of the lane before.

Precondition: lane ids mean something in the functions of the module, all of which may be called by vector code.
Postcondition: each takes ``@g`` plus stride times its lane id for the address of ``@g``. In a function for one lane,
which is lane 0, that is ``@g`` itself: for one lane the program is preserved under FR and OBL, for others this is what
the shape means.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.ir import Builder, ConstInt, GlobalVariable, Module, Value
from weft.ir.global_addresses import mentions, replace_globals
from weft.ir.intrinsics import CONVERGENT, INTRINSICS
from weft.ir.types import I8, I64


def shift_globals(module: Module, strides: Mapping[GlobalVariable, int]) -> None:
    """Let lane l find each of the variables l times its stride, in bytes, behind where it is."""
    for function in list(module.definitions()):
        lane: list[Value] = []

        def shifted(builder: Builder, variable: GlobalVariable, lane: list[Value] = lane) -> Value:
            if not lane:
                lane.append(_lane(builder))
            distance = builder.binary("mul", lane[0], ConstInt(I64, strides[variable]))
            return builder.gep(I8, variable, (distance,))

        replace_globals(function, strides, shifted)


def is_in_initializer(module: Module, variable: GlobalVariable) -> bool:
    """Whether the value of another global variable holds the address, which then is the same for all lanes."""
    return any(
        g.initializer is not None and mentions(g.initializer, {variable}) for g in module.globals.values()
    )


def _lane(builder: Builder) -> Value:
    """The lane of the thread, as wide as an address."""
    row = INTRINSICS["weft.lane.id"]
    lane = builder.call(builder.module.declare(row.name, row.signature, CONVERGENT), ())
    return builder.cast("zext", lane, I64)
