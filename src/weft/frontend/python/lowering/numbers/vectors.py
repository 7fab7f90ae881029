"""``cuda.float32x4(...)`` and its like: numbers and shorter vectors, one after the other, make a vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.diag.errors import TypingError
from weft.frontend.python.cuda_names import CudaName
from weft.frontend.python.lowering.calls.registry import Arguments, CallHandler, call
from weft.frontend.python.lowering.calls.typed import TupleValue, Typed, items_of
from weft.frontend.python.lowering.numbers.casts import cast
from weft.frontend.python.types import Scalar, Tuple
from weft.frontend.python.vector_types import VECTOR_TYPES

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def _constructor(cls: Any, element: Scalar) -> CallHandler:
    def lower(low: Lowering, args: Arguments) -> Typed:
        if args.keywords:
            raise TypingError(f"{args.name}() takes its parts by position")
        parts: list[Typed] = []
        for value in args.values:
            parts += items_of(value) if isinstance(value.type, Tuple) else [value]
        if len(parts) != len(cls._fields):
            raise TypingError(
                f"{args.name}() takes {len(cls._fields)} numbers, not {len(parts)}",
                hint="vectors among the arguments count as many as they have",
            )
        return TupleValue(tuple(cast(low, part, element) for part in parts), cls)

    return lower


for _name, (_cls, _element) in VECTOR_TYPES.items():
    call(CudaName(_name))(_constructor(_cls, _element))
