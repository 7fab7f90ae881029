"""Memory of which it is known how much there is: arrays whose extents are parameters, and objects with a size."""

from __future__ import annotations

import re

from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.scope import ArrayParameters, LoopContext
from weft.analysis.symbolic.expression import Expression, Symbol, as_expression
from weft.ir import Argument, GlobalVariable, Instruction

_DEREFERENCEABLE = re.compile(r"dereferenceable\((\d+)\)")


def size_of(
    made: Reconstruction, loop: LoopContext, base: Symbol, tests: dict[Expression, None]
) -> Expression | None:
    """The bytes from where a pointer leads to on; what has to be 0 or greater for that goes to `tests`."""
    origin, layout = base.origin, made.program.module.layout
    if isinstance(origin, GlobalVariable) and origin.linkage.linkage != "extern_weak":
        return as_expression(layout.store_size(origin.value_type))
    if isinstance(origin, Instruction) and origin.op == "alloca":
        count = origin.operands[0]
        number = getattr(count, "value", None)
        return None if number is None else as_expression(number * layout.store_size(origin.allocated_type))
    if not isinstance(origin, Argument) or origin not in loop.scope.function.args:
        return None
    for array in made.program.arrays:
        if loop.scope.function.args[array.data] is origin:
            return _array_bytes(made, loop, array, tests)
    for attribute in origin.attributes:
        if match := _DEREFERENCEABLE.fullmatch(attribute):
            return as_expression(int(match[1]))
    return None


def _array_bytes(
    made: Reconstruction, loop: LoopContext, array: ArrayParameters, tests: dict[Expression, None]
) -> Expression:
    scope = loop.scope
    extents, strides = (
        [made.of(scope, scope.function.args[n]) for n in numbers]
        for numbers in (array.extents, array.strides)
    )
    if not strides:
        size = as_expression(array.itemsize)
        for extent in extents:
            size *= extent
        return size
    size = as_expression(array.itemsize)
    for extent, stride in zip(extents, strides, strict=True):
        # The last element is behind the first, and there is one.
        tests[extent - 1] = None
        tests[stride] = None
        size += (extent - 1) * stride
    return size
