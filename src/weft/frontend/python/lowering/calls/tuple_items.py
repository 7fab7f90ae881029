"""``t[i]`` where which item it is, is known at run time only: a choice among all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python.components import components
from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.lowering.checks import TUPLE_INDEX, check
from weft.frontend.python.lowering.choices import select
from weft.frontend.python.lowering.numbers.casts import to_int64
from weft.ir.builder import const_int

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def item_at(low: Lowering, items: tuple[Typed, ...], index: Typed) -> Typed:
    """The item at an index, of the type that all have in common; a negative index counts from the end.

    An index outside the tuple gives the last item, and with ``debug=True`` a finding or an IndexError.

    Raises
    ------
    TypingError
        The index is no integer, or the items have no common type.
    """
    if not items:
        raise TypingError("an empty tuple has no items")
    if not all(components(item.type) or item.is_literal for item in items):
        raise TypingError(
            "a tuple of what exists at compile time only is indexed by a constant",
            hint="loop over the tuple with for",
        )
    place = to_int64(low, index, "the index of a tuple")
    if index.low is None or index.low < 0:
        negative = low.builder.icmp("slt", place, const_int(0))
        from_end = low.builder.binary("add", place, const_int(len(items)))
        place = low.builder.select(negative, from_end, place)
    check(low, TUPLE_INDEX, low.builder.icmp("uge", place, const_int(len(items))))
    result = items[-1]
    for position in range(len(items) - 2, -1, -1):
        here = low.builder.icmp("eq", place, const_int(position))
        try:
            result = select(low, here, items[position], result)
        except TypingError:
            raise TypingError(
                f"a tuple of {items[position].type} and {result.type} is indexed by a constant",
                hint="loop over the tuple with for",
            ) from None
    return result
