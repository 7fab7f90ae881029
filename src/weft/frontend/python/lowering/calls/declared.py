"""Values as a declared signature has them: arguments on the way in, results on the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.calls.typed import TupleValue, Typed, items_of
from weft.frontend.python.lowering.numbers.casts import cast, convert
from weft.frontend.python.lowering.numbers.comparisons import truth
from weft.frontend.python.overloads import NoSignature, best_signature, conversion
from weft.frontend.python.types import Array, KernelType, Scalar, Signature, Tiled, Tuple, boolean

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def signature_for(name: str, values: list[Typed], signatures: tuple[Signature, ...]) -> Signature:
    """The signature that a call in compiled code takes.

    Raises
    ------
    TypingError
        None does.
    """
    try:
        return best_signature(name, [v.type for v in values], signatures, first_of_equals=True)
    except NoSignature as error:
        declared = "; ".join(map(str, signatures))
        raise TypingError(str(error), hint=f"it was declared for {declared}") from None


def argument(low: Lowering, value: Typed, type: KernelType) -> Typed:
    """An argument as its parameter takes it; an array stays what it is known to be."""
    if isinstance(type, Tuple):
        pairs = zip(items_of(value), type.items, strict=True)
        return TupleValue(tuple(argument(low, *pair) for pair in pairs), type.cls)
    if isinstance(type, Scalar) and value.type is not type:
        return truth(low, value) if type is boolean else cast(low, value, type)
    return value


def result(low: Lowering, name: str, value: Typed, type: KernelType) -> Typed:
    """What a function returns, as the type that it was declared to return.

    Raises
    ------
    TypingError
        There is no conversion.
    """
    if conversion(value.type, type) is None:
        raise TypingError(f"{name}() is declared to return {type}, and returns {value.type}")
    if isinstance(type, Tuple):
        pairs = zip(items_of(value), type.items, strict=True)
        made = TupleValue(tuple(result(low, name, *pair) for pair in pairs), type.cls)
        return Typed(type, convert(low, made, type))
    if isinstance(type, (Array, Tiled)):
        return Typed(type, convert(low, value, type))
    return argument(low, value, type)
