"""Text of fixed length in arrays and records: stored, copied and compared for equality."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.types import Text, boolean
from weft.ir.builder import const_int
from weft.ir.constants import TRUE
from weft.ir.types import I8, int_type
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def _units(low: Lowering, value: Typed, like: Text) -> list[Value]:
    """The bytes or characters of a value, as many as it has.

    Raises
    ------
    TypingError
        It is no text of the kind of `like`, or a literal that does not fit.
    """
    unit = int_type(8 * like.unit)
    known = value.static
    if isinstance(value.type, Text) and value.type.numpy_dtype.kind == like.numpy_dtype.kind:
        places, align = range(0, value.type.size, like.unit), value.type.align
        return [low.builder.load(unit, _at(low, value.parts[0], place), align) for place in places]
    if isinstance(known, bytes if like.numpy_dtype.kind == "S" else str):
        data = np.asarray(known, like.numpy_dtype.kind)
        return [const_int(int(x), unit) for x in data.reshape(1).view(f"u{like.unit}")] if data.size else []
    raise TypingError(f"{value.type} cannot become {like}")


def _at(low: Lowering, base: Value, offset: int) -> Value:
    return low.builder.gep(I8, base, (const_int(offset),), ("inbounds",)) if offset else base


def store_text(low: Lowering, value: Typed, address: Value, type: Text) -> None:
    """Store text, cut to the length of `type` or padded with zeros, as NumPy does."""
    count = type.size // type.unit
    units = _units(low, value, type)[:count]
    units += [const_int(0, int_type(8 * type.unit))] * (count - len(units))
    for place, unit in enumerate(units):
        low.builder.store(unit, _at(low, address, place * type.unit), type.align)


def same_text(low: Lowering, symbol: str, a: Typed, b: Typed) -> Typed:
    """``a == b`` or ``a != b``; zeros at the end are no part of a text."""
    like = a.type if isinstance(a.type, Text) else b.type
    assert isinstance(like, Text)
    if symbol not in ("==", "!="):
        raise TypingError(f"there is no order of text: {a.type} {symbol} {b.type}")
    x, y = _units(low, a, like), _units(low, b, like)
    zero = const_int(0, int_type(8 * like.unit))
    length = max(len(x), len(y))
    x, y = x + [zero] * (length - len(x)), y + [zero] * (length - len(y))
    same: Value = TRUE
    for one, other in zip(x, y, strict=True):
        same = low.builder.binary("and", same, low.builder.icmp("eq", one, other))
    return Typed(boolean, (same if symbol == "==" else low.builder.binary("xor", same, TRUE),))
