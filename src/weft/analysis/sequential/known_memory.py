"""Memory that is known to be there: that of arrays whose extents are parameters, and of objects with a size.

What a loop would load in iterations that it may not come to has to lie in such memory. The bytes are those of
`weft.analysis.sequential.sections`, in all iterations that there could be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.run_time_tests import is_known_before
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.sequential.sections import section_of
from weft.analysis.symbolic.expression import Expression, Symbol, as_expression
from weft.ir import Argument, GlobalVariable, Instruction

_DEREFERENCEABLE = re.compile(r"dereferenceable\((\d+)\)")


@dataclass(frozen=True, slots=True)
class ArrayParameters:
    """The parameters that an array is passed in, by their numbers.

    Parameters
    ----------
    data
        The pointer to its first element.
    extents, strides
        Those of each dimension, strides in bytes; no strides where elements stand one after the other.
    itemsize
        The bytes of an element.
    """

    data: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int


def bounds_to_test(
    accesses: Accesses, loop: LoopContext, loads: Iterable[Instruction], arrays: Sequence[ArrayParameters]
) -> list[Expression] | str:
    """What has to be 0 or greater, that all iterations of `loop` may make these loads; or why nobody knows."""
    wanted = dict.fromkeys(loads)
    found: dict[Expression, None] = {}
    known: set[Instruction] = set()
    for access in accesses.of(loop):
        if (
            not isinstance(access, Access)
            or access.instruction not in wanted
            or access.scope is not loop.scope
        ):
            continue
        size = None if access.base is None else _size_of(accesses, loop, access.base, arrays, found)
        if size is None:
            name = "what it loads" if access.base is None else f"what {access.base.name} leads to"
            return (
                f"it is not known how much memory there is of {name}, which iterations behind it would load"
            )
        low, end = section_of(accesses, access, loop)
        if low is None or end is None:
            return "it is not known which elements iterations behind it would load"
        for bound in (low, size - end):
            if bound.constant is None or bound.constant < 0:
                found[bound] = None
        known.add(access.instruction)
    if len(known) != len(wanted):
        return "it is not known what iterations behind it would load"
    if any(not is_known_before(accesses, s, loop) for e in found for s in e.symbols()):
        return "which elements iterations behind it would load is not known before the loop"
    return list(found)


def _size_of(
    accesses: Accesses,
    loop: LoopContext,
    base: Symbol,
    arrays: Sequence[ArrayParameters],
    tests: dict[Expression, None],
) -> Expression | None:
    """The bytes from where a pointer leads to on; what that rests on goes to `tests`."""
    origin, layout = base.origin, accesses.reconstruction.program.module.layout
    if isinstance(origin, GlobalVariable):
        return as_expression(layout.store_size(origin.value_type))
    if isinstance(origin, Instruction) and origin.op == "alloca":
        count = origin.operands[0]
        number = getattr(count, "value", None)
        return None if number is None else as_expression(number * layout.store_size(origin.allocated_type))
    if not isinstance(origin, Argument) or origin not in loop.scope.function.args:
        return None
    for array in arrays:
        if loop.scope.function.args[array.data] is origin:
            return _array_bytes(accesses, loop, array, tests)
    for attribute in origin.attributes:
        if match := _DEREFERENCEABLE.fullmatch(attribute):
            return as_expression(int(match[1]))
    return None


def _array_bytes(
    accesses: Accesses, loop: LoopContext, array: ArrayParameters, tests: dict[Expression, None]
) -> Expression:
    scope, made = loop.scope, accesses.reconstruction
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
