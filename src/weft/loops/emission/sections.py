"""The elements of arrays that a loop touches, as expressions of the host."""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.symbolic.expression import Expression, floor_division, maximum, minimum
from weft.analysis.symbolic.facts import Facts
from weft.ir.types import I64
from weft.loops.emission.kernel import KernelParts
from weft.loops.emission.parameters import ArrayParameter
from weft.loops.emission.tree import Node

_NO_SIZE = 1 << 30
"""A greater number of elements is that of all which a type of index could reach."""


class Section(Struct, frozen=True):
    """The elements of an array that a kernel touches, None where that is not known."""

    array: ArrayParameter
    low: Node | None
    end: Node | None
    is_read: bool
    is_written: bool


def sections_of(parts: KernelParts) -> list[Section]:
    """What a kernel touches of each of its arrays, if there is an iteration; else it touches nothing."""
    found: list[Section] = []
    given = parts.nest.report.parameters
    firsts = [g.first for g in parts.nest.groups if g.first is not None]
    innermost = parts.nest.dimensions[0] if parts.nest.dimensions else parts.nest.loop
    body = innermost.scope.view.blocks[innermost.loop.latches[0]]
    facts = parts.made.facts(innermost.scope, body)
    for array in sorted(parts.arrays.values(), key=lambda a: a.order):
        size = max(1, parts.made.program.module.layout.store_size(array.element))
        mine = [(s, w) for w, group in ((False, given.inputs), (True, given.outputs)) for s in group]
        mine = [(s.low, s.end, w) for s, w in mine if s.base is array.base]
        mine += [(f.offset, f.offset + f.size, False) for f in firsts if f.base is array.base]
        ends: list[Node | None] = []
        for upper in (False, True):
            values = [end if upper else low for low, end, _ in mine]
            if not values or any(v is None for v in values):
                ends.append(None)
                continue
            known = [v for v in values if v is not None]
            if any(parts.nest.loop.contains(s.loop) for v in known for s in v.symbols()):
                # As of a loop whose number of iterations is not known before.
                ends.append(None)
                continue
            value = facts.simplified(_extreme(known, upper, facts))
            value = floor_division(value + (size - 1 if upper else 0), size)
            if upper and value.constant is not None and value.constant > _NO_SIZE:
                ends.append(None)
                continue
            if not upper and not facts.is_nonnegative(value):
                value = maximum([value, Expression({})])
            ends.append(parts.values.number(value, I64, parts.nest.loop.header.terminator))
        found.append(Section(array, ends[0], ends[1], any(not w for *_, w in mine), any(w for *_, w in mine)))
    return found


def _extreme(values: list[Expression], upper: bool, facts: Facts) -> Expression:
    for value in values:
        if all(facts.is_nonnegative(value - v if upper else v - value) for v in values):
            return value
    return maximum(values) if upper else minimum(values)
