"""Places in shared memory as multiples of numbers of threads, of a distance, and of what all threads have.

Precondition: a kernel whose ids are parameters (`weft.transform.groups.work_items`), in canonical form.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from weft.analysis.memory.alias import locate
from weft.ir import Argument, ConstInt, Instruction, Value
from weft.ir.layout import DataLayout
from weft.ir.types import I64, IntType
from weft.transform.groups.work_items import WorkItems

LONGEST = 512
"""The longest distance in a work-group of 1024 threads."""

WIDEST = 1 << 16
"""The longest row of an array, in elements or bytes: places in shared memory fit in 32 bits."""


def is_cast_of(value: Value, of: Value) -> bool:
    """Whether a value is another one, be it cast: numbers of threads and distances fit in 16 bits."""
    while value is not of and isinstance(value, Instruction) and value.op in ("zext", "sext", "trunc"):
        if not isinstance(value.type, IntType) or value.type.bits < 16:
            return False
        value = value.operands[0]
    return value is of


class Places(Struct, frozen=True):
    """Takes places in memory apart to multiples of numbers of threads, of a distance, and of what all threads have.

    Parameters
    ----------
    items
        The ids of the kernel.
    is_of_all
        Whether all threads have a value.
    distance
        The distance, if any.
    """

    items: WorkItems
    is_of_all: Callable[[Value], bool]
    distance: Value | None = None

    def of(self, pointer: Value, layout: DataLayout) -> tuple[Argument, dict[Value | None, int]] | None:
        """The parameter that a place is counted from, and the multiples, in bytes; None has a number."""
        there = locate(pointer, layout)
        form: dict[Value | None, int] = {None: there.offset}
        for index, scale in there.terms.items():
            linear = self._linear(index)
            if linear is None:
                return None
            for value, factor in linear.items():
                form[value] = form.get(value, 0) + factor * scale
        return (there.base, form) if isinstance(there.base, Argument) else None

    @property
    def _small(self) -> list[Value]:
        known = self.items.tid[:2]
        return [*known, self.distance] if self.distance is not None else list(known)

    def _linear(self, value: Value, steps: int = 6) -> dict[Value | None, int] | None:
        for known in self._small:
            if is_cast_of(value, known):
                return {known: 1}
        if isinstance(value, ConstInt):
            return {None: value.signed} if 0 <= value.signed <= LONGEST else None
        type = value.type
        if not isinstance(type, IntType) or type.bits < 32:
            return None
        if type == I64 and self.is_of_all(value):
            return {value: 1}
        if not isinstance(value, Instruction) or not steps:
            return None
        if value.op in ("zext", "sext", "trunc"):
            # Casts keep small numbers.
            found = self._linear(value.operands[0], steps - 1)
            return found if found and found.keys() <= {None, *self._small} else None
        if value.op in ("shl", "mul") and is_cast_of(value.operands[0], self.items.tid[1]):
            by = value.operands[1]
            factor = by.value if isinstance(by, ConstInt) else 0
            factor = 1 << min(factor, 63) if value.op == "shl" else factor
            return {self.items.tid[1]: factor} if 0 < factor <= WIDEST else None
        if value.op != "add" and not (value.op == "or" and "disjoint" in value.flags):
            return None
        a, b = (self._linear(operand, steps - 1) for operand in value.operands)
        return None if a is None or b is None else {v: a.get(v, 0) + b.get(v, 0) for v in (*a, *b)}
