"""``elements_at(operands, *index)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python.elements import elements_at
from weft.frontend.python.lowering.arrays.array_parts import array_type_of
from weft.frontend.python.lowering.arrays.arrays import element_address, element_align
from weft.frontend.python.lowering.arrays.memory import load_element
from weft.frontend.python.lowering.arrays.views import view
from weft.frontend.python.lowering.calls.registry import Arguments, call
from weft.frontend.python.lowering.calls.typed import TupleValue, Typed, items_of
from weft.frontend.python.types import Array, Tuple

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


@call(elements_at)
def _lower_elements_at(low: Lowering, args: Arguments) -> Typed:
    operands, *index = args.values
    if not isinstance(operands.type, Tuple):
        raise TypingError(f"{args.name}() takes a tuple of operands, not {operands.type}")
    return TupleValue(tuple(_element(low, item, index) for item in items_of(operands)))


def _element(low: Lowering, operand: Typed, index: list[Typed]) -> Typed:
    if isinstance(operand.type, Tuple):
        return items_of(operand)[0]
    if not isinstance(operand.type, Array):
        return operand
    type = array_type_of(operand)
    if len(index) < type.ndim:
        return view(low, operand, list(index))
    return load_element(low, element_address(low, operand, index), type.dtype, element_align(type))
