"""Extents of arrays that go together, as NumPy's broadcasting has it, and errors where they do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.diag.source import SourceSpan
from weft.frontend.python.lowering.arrays.heap import error_code
from weft.ir.builder import const_int
from weft.ir.constants import ConstInt
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def broadcast(low: Lowering, one: list[Value], other: list[Value]) -> list[Value]:
    """The extents of an operation on arrays of these: an extent of 1 goes with any other."""
    if len(one) < len(other):
        one, other = other, one
    lead = len(one) - len(other)
    return [*one[:lead], *(_common(low, a, b) for a, b in zip(one[lead:], other, strict=True))]


def _common(low: Lowering, a: Value, b: Value) -> Value:
    if a is b:
        return a
    if isinstance(a, ConstInt) and isinstance(b, ConstInt):
        if 1 not in (a.signed, b.signed) and a.signed != b.signed:
            raise TypingError(f"arrays of {a.signed} and {b.signed} elements do not go together")
        return b if a.signed == 1 else a
    builder, unit = low.builder, const_int(1)
    first, second = builder.icmp("eq", a, unit), builder.icmp("eq", b, unit)
    fits = builder.binary("or", builder.icmp("eq", a, b), builder.binary("or", first, second))
    if not low.stack[0].is_kernel:
        low.frame.use(low)
        wrong = builder.icmp("eq", fits, const_int(0, fits.type))
        low.frame.fail_if(low, wrong, shape_error(low))
    return low.builder.select(first, b, a)


def require_same(low: Lowering, a: Value, b: Value) -> None:
    """Fail where two extents differ; in kernels, which raise nothing, do nothing."""
    if isinstance(a, ConstInt) and isinstance(b, ConstInt):
        if a.signed != b.signed:
            raise TypingError(f"arrays of {a.signed} and {b.signed} elements do not go together")
    elif a is not b and not low.stack[0].is_kernel:
        low.frame.use(low)
        low.frame.fail_if(low, low.builder.icmp("ne", a, b), shape_error(low))


def shape_error(low: Lowering, message: str = "the shapes of the arrays do not go together") -> int:
    """The code of an error about shapes, at the place being lowered."""
    return error_code(low, "shape", message, _here(low))


def _here(low: Lowering) -> SourceSpan:
    place = low.builder.loc
    assert place is not None
    return SourceSpan(low.source.file, place.line, place.column)


def require_extent(low: Lowering, mine: Value, wanted: Value) -> None:
    """Fail where an extent is neither that of the target nor 1; in kernels, which raise nothing, do nothing."""
    if mine is wanted or (isinstance(mine, ConstInt) and mine.signed == 1):
        return
    if isinstance(mine, ConstInt) and isinstance(wanted, ConstInt):
        if mine.signed != wanted.signed:
            raise TypingError(f"{mine.signed} elements do not fit into {wanted.signed}")
    elif not low.stack[0].is_kernel:
        low.frame.use(low)
        b = low.builder
        wrong = b.binary("and", b.icmp("ne", mine, wanted), b.icmp("ne", mine, const_int(1)))
        low.frame.fail_if(low, wrong, shape_error(low))
