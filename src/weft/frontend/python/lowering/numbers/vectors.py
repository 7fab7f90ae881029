"""``cuda.float32x4(...)`` and its like: numbers and shorter vectors, one after the other, make a vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python.cuda_names import CudaName
from weft.frontend.python.lowering.calls.registry import Arguments, CallHandler, call
from weft.frontend.python.lowering.calls.typed import TupleValue, Typed, items_of
from weft.frontend.python.lowering.numbers.casts import cast
from weft.frontend.python.types import Tuple, scalar_named
from weft.frontend.python.vector_types import VECTOR_TYPES, vector_class

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def _constructor(element: str, count: int) -> CallHandler:
    def lower(low: Lowering, args: Arguments) -> Typed:
        if args.keywords:
            raise TypingError(f"{args.name}() takes its parts by position")
        parts: list[Typed] = []
        for value in args.values:
            parts += items_of(value) if isinstance(value.type, Tuple) else [value]
        if len(parts) != count:
            raise TypingError(
                f"{args.name}() takes {count} numbers, not {len(parts)}",
                hint="vectors among the arguments count as many as they have",
            )
        numbers = tuple(cast(low, part, scalar_named(element)) for part in parts)
        return TupleValue(numbers, vector_class(element, count))

    return lower


for _name, (_element, _count) in VECTOR_TYPES.items():
    call(CudaName(_name))(_constructor(_element, _count))
