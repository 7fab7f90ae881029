"""Addresses as sums: what the indices of an address are themselves computed from.

`alias.locate` stops at the indices of ``getelementptr``. Here ``a[3*i + 1]`` and ``a[3*i + 2]`` become the same base
with the same multiple of ``i`` and offsets that differ by an element. An index is a number extended by sign to the
width of an address, so a sum in fewer bits is taken apart only where it cannot wrap (``nsw``), or has no carries
(``or disjoint``). A thread in which such a flag makes an index poison does not access memory there.
"""

from __future__ import annotations

from weft.analysis.integers.bounds import to_signed
from weft.analysis.memory.alias import Alias, AliasAnalysis, Location, alias, locate
from weft.analysis.memory.promises import Promise
from weft.analysis.memory.stack_objects import StackObjects
from weft.ir import ConstInt, Instruction, Value
from weft.ir.layout import DataLayout
from weft.ir.types import IntType

ADDRESS_BITS = 64
MAX_STEPS = 32
"""How many instructions are taken apart for one address."""


def linear_location(pointer: Value, layout: DataLayout) -> Location:
    """Take an address apart down to indices that are no sums."""
    location = locate(pointer, layout)
    offset = location.offset
    terms: dict[Value, int] = {}
    work = list(location.terms.items())
    for _ in range(MAX_STEPS):
        if not work:
            break
        index, scale = work.pop()
        parts = summands(index)
        if parts is None:
            terms[index] = terms.get(index, 0) + scale
            continue
        for part, factor in parts:
            if isinstance(part, ConstInt):
                offset += scale * factor * part.signed
            else:
                work.append((part, scale * factor))
    for index, scale in work:
        terms[index] = terms.get(index, 0) + scale
    kept = {index: to_signed(scale, ADDRESS_BITS) for index, scale in terms.items()}
    return Location(
        location.base, to_signed(offset, ADDRESS_BITS), {i: scale for i, scale in kept.items() if scale}
    )


def summands(index: Value) -> list[tuple[Value, int]] | None:
    """Values and factors whose sum an index is, all extended by sign; None when it is no sum."""
    if not isinstance(index, Instruction) or not isinstance(index.type, IntType):
        return None
    op, operands = index.op, index.operands
    if op == "sext" or (op == "zext" and "nneg" in index.flags):
        return [(operands[0], 1)]
    exact = index.type.bits == ADDRESS_BITS or "nsw" in index.flags
    if (op == "add" and exact) or (op == "or" and "disjoint" in index.flags):
        return [(operands[0], 1), (operands[1], 1)]
    if op == "sub" and exact:
        return [(operands[0], 1), (operands[1], -1)]
    if op in ("mul", "shl") and exact and isinstance(operands[1], ConstInt):
        return [(operands[0], operands[1].signed if op == "mul" else 1 << operands[1].value)]
    return None


class LinearAliasAnalysis:
    """Alias questions about one thread's accesses, with addresses taken apart as far as possible.

    Parameters
    ----------
    objects
        The stack objects of its function, with those that escape.
    layout
        The data layout of its module.
    promise
        What the function's launcher promises of its arguments.
    """

    __slots__ = ("_alias", "_layout", "_locations", "_promise")

    def __init__(self, objects: StackObjects, layout: DataLayout, promise: Promise | None = None) -> None:
        self._promise = promise
        self._alias = AliasAnalysis(objects, layout)
        self._layout = layout
        self._locations: dict[Value, Location] = {}

    def location(self, pointer: Value) -> Location:
        """`linear_location`, remembered."""
        found = self._locations.get(pointer)
        if found is None:
            found = self._locations[pointer] = linear_location(pointer, self._layout)
        return found

    def may_overlap(self, a: Value, a_bytes: int, b: Value, b_bytes: int) -> bool:
        """Whether one thread's accesses through two pointers may touch a common byte."""
        here, there = self.location(a), self.location(b)
        if alias(here, a_bytes, there, b_bytes) is Alias.NO:
            return False
        if self._alias.alias(a, a_bytes, b, b_bytes) is Alias.NO:
            return False
        return self._promise is None or not self._promise.parts(here.base, there.base)
