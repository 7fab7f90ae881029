"""Arrays as the right-hand side of ``x, y = a``: their elements, or their rows, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.diag.errors import TypingError, UnsupportedError
from weft.frontend.python.lowering.arrays.array_parts import array_type_of, extents_of
from weft.frontend.python.lowering.arrays.arrays import element_address, element_align
from weft.frontend.python.lowering.arrays.memory import load_element
from weft.frontend.python.lowering.arrays.shape_checks import shape_error
from weft.frontend.python.lowering.arrays.views import view
from weft.frontend.python.lowering.calls.typed import Typed, literal
from weft.ir.builder import const_int
from weft.ir.constants import ConstInt

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def rows_of(low: Lowering, value: Typed, count: int) -> list[Typed]:
    """So many elements of an array; another number of them is an error, as the code runs where it shows only then.

    Raises
    ------
    UnsupportedError
        This is a kernel, which raises nothing, and the number is not known.
    """
    array = value.settled(low)
    type = array_type_of(array)
    if not type.ndim:
        raise TypingError(f"{type} cannot be unpacked")
    extent = extents_of(low, array)[0]
    if isinstance(extent, ConstInt):
        if extent.signed != count:
            raise TypingError(f"an array of {extent.signed} cannot be unpacked into {count} targets")
    elif low.stack[0].is_kernel:
        hint = "name the elements: a = x[0]; b = x[1]"
        raise UnsupportedError("an array whose length is not known cannot be unpacked in a kernel", hint=hint)
    else:
        low.frame.use(low)
        wrong = low.builder.icmp("ne", extent, const_int(count))
        low.frame.fail_if(
            low, wrong, shape_error(low, f"an array of another length than {count} is unpacked")
        )
    if type.ndim > 1:
        return [view(low, array, [literal(k)]) for k in range(count)]
    places = [element_address(low, array, [literal(k)]) for k in range(count)]
    return [load_element(low, place, type.dtype, element_align(type)) for place in places]
