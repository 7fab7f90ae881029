"""The ranges of a function, which are found once for as long as it stays as it is.

Passes ask for them one after the other, and most change nothing, or another function. Ranges take some fifty times as
long to find as a look at whether all that they are made of is as it was: blocks, instructions, operands and what these
say of themselves, and the parameters. What is kept is what was found last, with the function.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from weft.analysis.integers.ranges import Ranges
from weft.graph.block_index import block_index
from weft.ir import Function
from weft.ir.cfg_view import CFGView, cfg_of


class _Kept(Struct, frozen=True, eq=False):
    """Ranges, and what the function was when they were found.

    Parameters
    ----------
    view
        Its control flow.
    read
        What else ranges are found from. Objects are themselves in it, so that none of them can be gone meanwhile.
    ranges
        The ranges.
    """

    view: CFGView
    read: list[Any]
    ranges: Ranges


def ranges_of(function: Function, view: CFGView | None = None) -> Ranges:
    """The ranges of a definition as it is.

    Parameters
    ----------
    function
        The function.
    view
        Its control flow, if that is at hand. One that is not what the function has now gives ranges of its own.
    """
    view, current = view or cfg_of(function), cfg_of(function)
    if view is not current:
        return Ranges(function, view, block_index(view.cfg))
    known, read = function.ranges, _read(function)
    if isinstance(known, _Kept) and known.view is view and known.read == read:
        return known.ranges
    ranges = Ranges(function, view, block_index(view.cfg))
    function.ranges = _Kept(view, read, ranges)
    return ranges


def _read(function: Function) -> list[Any]:
    """All that `Ranges` looks at beside the control flow."""
    found: list[Any] = [function.attributes, function.module]
    for argument in function.args:
        found += (argument, argument.name, argument.attributes)
    for block in function.blocks:
        found.append(block.predicate)
        for i in block.instructions:
            found += (i, i.op, i.flags, i.total, i.shadow, i.guard, *i.operands, *i.blocks)
            if i.attrs:
                found.append(dict(i.attrs))
            if i.metadata:
                found.append(i.metadata.get("range"))
    return found
