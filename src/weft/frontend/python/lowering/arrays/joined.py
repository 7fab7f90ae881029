"""``np.concatenate`` and its kin: arrays one behind the other, or side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.arrays.array_parts import array_type_of, extents_of
from weft.frontend.python.lowering.arrays.arrays import Index, Slice
from weft.frontend.python.lowering.arrays.elementwise import Lazy, assign_elements
from weft.frontend.python.lowering.arrays.products import view_as
from weft.frontend.python.lowering.arrays.views import view
from weft.frontend.python.lowering.arrays.written import array_of, given
from weft.frontend.python.lowering.attributes import size
from weft.frontend.python.lowering.calls.registry import Arguments, call
from weft.frontend.python.lowering.calls.typed import Typed, items_of, literal
from weft.frontend.python.lowering.numbers.arithmetic import binary
from weft.frontend.python.types import Scalar, Tuple
from weft.frontend.python.typing_rules import promote

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


@call(np.concatenate, np.hstack, np.vstack, np.column_stack, np.stack)
def _joined(low: Lowering, args: Arguments) -> Typed:
    from weft.frontend.python.lowering.arrays.allocation import allocate

    names = ("arrays", "axis") if args.name in ("concatenate", "stack") else ("tup", "")
    arrays, *rest = given(low, args, *names)
    if arrays is None or not isinstance(arrays.type, Tuple) or not arrays.type.items:
        raise TypingError(f"{args.name}() takes a tuple of arrays")
    items = [item.settled(low) if isinstance(item, Lazy) else item for item in items_of(arrays)]
    items = [array_of(args, item, 1, 2) for item in items]
    ranks = {array_type_of(item).ndim for item in items}
    if len(ranks) > 1 and args.name not in ("vstack", "column_stack"):
        raise TypingError(f"{args.name}() takes arrays of as many dimensions, not {arrays.type}")
    axis = 0 if not rest or rest[0] is None else rest[0].int_literal
    match args.name:
        case "hstack":
            axis = 0 if ranks == {1} else 1
        case "vstack" | "stack" | "column_stack":
            if args.name == "stack" and ranks != {1}:
                raise TypingError("stack() takes arrays of one dimension here")
            axis = {"vstack": 0, "column_stack": 1}.get(args.name, axis)
            shape = [None, 0] if axis == 0 else [0, None]
            items = [view_as(low, item, shape) if array_type_of(item).ndim == 1 else item for item in items]
    ndim = array_type_of(items[0]).ndim
    if axis is None or not -ndim <= axis < ndim:
        raise TypingError(f"the axis of {args.name}() is a literal number of a dimension")
    along = axis % ndim
    extents = [[size(extent) for extent in extents_of(low, item)] for item in items]
    ends = [literal(0)]
    for each in extents:
        ends.append(binary(low, "+", ends[-1], each[along]))
    dtype = array_type_of(items[0]).dtype
    for item in items[1:]:
        other = array_type_of(item).dtype
        assert isinstance(dtype, Scalar) and isinstance(other, Scalar)
        dtype = dtype if dtype is other else promote(dtype, other)
    shape = [ends[-1] if k == along else extents[0][k] for k in range(ndim)]
    made = allocate(low, args, shape, dtype)
    for item, begin, end in zip(items, ends, ends[1:], strict=False):
        parts: list[Index] = [Slice(begin, end) if k == along else Slice() for k in range(ndim)]
        target = view(low, made, parts)
        _require_same_shape(low, item, target, along)
        assign_elements(low, target, item)
    return made


def _require_same_shape(low: Lowering, item: Typed, target: Typed, along: int) -> None:
    """Fail where another extent than the one along which arrays are joined differs."""
    from weft.frontend.python.lowering.arrays.shape_checks import require_same

    ones, others = extents_of(low, item), extents_of(low, target)
    del ones[along], others[along]
    require_same(low, ones, others)
