"""Numbers of threads in their work-group: ``tid.x + lsize.x * (tid.y + lsize.y * tid.z)``, or with sizes as numbers.

A program that has ``16 * tid.y + tid.x`` means a block whose rows have 16 threads; whether a launch has such blocks is
what `ThreadNumber.asked` says. All sums are of numbers of which none is negative, and where what is asked holds none of
them exceeds 1024.
"""

from __future__ import annotations

from msgspec import Struct

from weft.ir import ConstInt, Instruction, Value
from weft.ir.types import I32, IntType
from weft.transform.groups.work_items import WorkItems

Product = tuple[int, tuple[int, ...]]
"""A number times sizes of the work-group, these by their dimensions, in order."""

_Terms = dict[tuple[tuple[str, int], ...], int]
"""Sums of products of positions and sizes, by dimension, times numbers."""

_STEPS = 12


class ThreadNumber(Struct, frozen=True):
    """How threads of a work-group are numbered.

    Parameters
    ----------
    dimensions
        How many dimensions the number is made of; the work-group has no others if what is asked holds.
    asked
        Products that have to be equal so that the numbers are those from 0, and the step is how many there are.
    """

    dimensions: int
    asked: tuple[tuple[Product, Product], ...]

    def size(self, dimension: int) -> int | None:
        """The size of the work-group along a dimension, where what is asked says so."""
        known: dict[int, int] = {}
        for (number, others), (_, sizes) in self.asked:
            left = [d for d in sizes if d not in known]
            rest = number
            for d in sizes:
                rest = rest // known[d] if d in known and rest % known[d] == 0 else rest
            if not others and len(left) == 1:
                known[left[0]] = rest
        return known.get(dimension)


def thread_number(value: Value, step: Value, items: WorkItems) -> ThreadNumber | None:
    """How threads are numbered, if the value is such a number, and the step how many there are."""
    number, all = _terms(value, items), _terms(step, items)
    if number is None or all is None or len(all) != 1:
        return None
    factors: dict[int, Product] = {}
    for product, times in number.items():
        positions = [d for kind, d in product if kind == "tid"]
        if len(positions) != 1 or positions[0] in factors:
            return None
        factors[positions[0]] = times, _sizes(product)
    if factors.get(0) != (1, ()) or sorted(factors) != list(range(len(factors))):
        return None
    asked: list[tuple[Product, Product]] = []
    for d in (1, 2):
        found, wanted = ((factors[d], _of(d))) if d in factors else ((1, ()), (1, (d,)))
        if found != wanted:
            asked.append((found, wanted))
    ((product, times),) = all.items()
    if len(_sizes(product)) != len(product):
        return None
    if (times, _sizes(product)) != _of(len(factors)):
        asked.append(((times, _sizes(product)), _of(len(factors))))
    return ThreadNumber(len(factors), tuple(asked))


def _of(dimensions: int) -> Product:
    return 1, tuple(range(dimensions))


def _sizes(product: tuple[tuple[str, int], ...]) -> tuple[int, ...]:
    return tuple(d for kind, d in product if kind == "lsize")


def _terms(value: Value, items: WorkItems, steps: int = _STEPS) -> _Terms | None:
    if isinstance(value, ConstInt):
        return {(): value.signed} if value.signed > 0 else None
    for kind, arguments in (("tid", items.tid), ("lsize", items.lsize)):
        for d, argument in enumerate(arguments):
            if value is argument:
                return {((kind, d),): 1}
    if not isinstance(value, Instruction) or not steps or not isinstance(value.type, IntType):
        return None
    if value.type.bits < I32.bits:
        return None
    if value.op in ("zext", "sext", "trunc"):
        return _terms(value.operands[0], items, steps - 1)
    if value.op not in ("add", "mul", "shl", "or") or (value.op == "or" and "disjoint" not in value.flags):
        return None
    a, b = value.operands
    if value.op == "shl":
        if not isinstance(b, ConstInt) or b.value > 10:
            return None
        first = _terms(a, items, steps - 1)
        return first and {product: times << b.value for product, times in first.items()}
    first, second = _terms(a, items, steps - 1), _terms(b, items, steps - 1)
    if first is None or second is None:
        return None
    result: _Terms = {}
    if value.op == "mul":
        for p, m in first.items():
            for q, n in second.items():
                both = tuple(sorted((*p, *q)))
                result[both] = result.get(both, 0) + m * n
        return result
    for product, times in (*first.items(), *second.items()):
        result[product] = result.get(product, 0) + times
    return result
