"""Rows that several loads read at different places, loaded once in whole registers (Moll, §11.4, 11.6.2).

A stencil loads each row of its box at several shifts: ``a[i - 1]``, ``a[i]`` and ``a[i + 1]`` are three registers where
two hold all elements, and loads of 64 bytes that are not aligned to a cache line take twice as long. So where a row is
read at three shifts or more it is covered once, in registers from its first element on (`weft.codegen.widen.covered`),
of which what lies between is picked by one shuffle of two each. That pays where memory operations, not arithmetic, take
most of the time, and where shuffles have a pipe of their own (`weft.machine.cores`).

Measured on AMD's Zen 4 with the five stencils of Moll, §13.4, in boxes of 2x8 to 8x8 doubles, 304 a row, AVX-512: up to
1.3 times as fast where the sums below say so, 0.9 to 1.05 elsewhere. By hand in C, handing on the last register of each
row to the box beside it took 0.93 to 1.08 of the time of that.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from weft.codegen.widen.context import Widening
from weft.codegen.widen.covered import Covering, Element, elements_at, loads_beside
from weft.codegen.widen.sums_of_products import Strip
from weft.costs.instructions import instruction_cost, memory_cost
from weft.costs.vector_code import OVERLAP, WIDE_BITS, shuffle_cycles
from weft.ir import BasicBlock, Instruction
from weft.ir.types import FloatType, IntType

SHIFTS = 3
"""Places that a row is read at, for one load of it to be worth the shuffles."""

WORTHWHILE = 0.95
"""Of the cycles, no more must be left. Where 0.99 and 0.96 would be, of Seidel-25 in 2x8 and 2x16, it took 1.1 times as
long."""

LEAST_BYTES = 4
"""Of an element: two registers of narrower ones are not picked out of by a number in the instruction."""


class Row(Struct):
    """What loads of a block read of a strip, in whole registers.

    Parameters
    ----------
    places
        The bytes at which registers begin.
    """

    places: set[int] = field(default_factory=set)

    def is_shifted(self, register: int) -> bool:
        """Whether it is read at several places of a register of so many bytes."""
        return len({place % register for place in self.places}) >= SHIFTS

    def high(self, register: int) -> int:
        """Where what is read ends."""
        return max(self.places) + register

    def registers(self, register: int) -> int:
        """How many registers cover it."""
        return -(-(self.high(register) - min(self.places)) // register)


def shifted_of(
    w: Widening, load: Instruction, elements: list[Element], size: int, slots: int
) -> Covering | None:
    """How a load whose registers are whole pieces of memory is picked out of rows; None where that does not pay."""
    register = size * slots
    if 8 * register != WIDE_BITS or size < LEAST_BYTES or shuffle_cycles(w.isa) >= 1:
        return None
    if w.mask is not None or load.block is None:
        return None
    rows = _rows(w, load, size, slots)
    if not any(rows[strip].is_shifted(register) for strip, _ in elements[::slots]):
        return None
    pieces: dict[tuple[Strip, int, int], int] = {}
    lanes: list[tuple[int, int]] = []
    for lane, (strip, offset) in enumerate(elements):
        row = rows[strip]
        if row.is_shifted(register):
            begin = min(row.places)
            begin += (offset - begin) // register * register
            length = min(slots, (row.high(register) - begin) // size)
        else:
            begin, length = elements[lane - lane % slots][1], slots
        number = pieces.setdefault((strip, begin, length), len(pieces))
        lanes.append((number, (offset - begin) // size))
    return Covering(tuple(pieces), tuple(lanes), 0.0)


def _rows(w: Widening, load: Instruction, size: int, slots: int) -> dict[Strip, Row]:
    """What the loads that are made whenever this one is read, by strip; empty rows where picking does not pay."""
    known = w.rows.get(load)
    if known is not None:
        return known
    found: dict[Strip, Row] = {}
    beside = [other for other in loads_beside(load) if other.type == load.type]
    for other in beside:
        elements = list(elements_at(w, other))
        if _is_whole(elements, size, slots) and len(elements) == w.lanes.width:
            for strip, offset in elements[::slots]:
                found.setdefault(strip, Row()).places.add(offset)
    assert load.block is not None
    if not _pays(w, load.block, found.values(), size * slots):
        found = {}
    rows = _Known(found)
    for other in (load, *beside):
        w.rows[other] = rows
    return rows


class _Known(dict[Strip, Row]):
    """Rows, and an empty one for what is not shifted."""

    def __missing__(self, strip: Strip) -> Row:
        return Row()


def _is_whole(elements: list[Element], size: int, slots: int) -> bool:
    """Whether the lanes of each register are neighbours in memory."""
    return all(
        (strip, at) == (elements[k - k % slots][0], elements[k - k % slots][1] + k % slots * size)
        for k, (strip, at) in enumerate(elements)
    )


def _pays(w: Widening, block: BasicBlock, rows: Iterable[Row], register: int) -> bool:
    """Whether a block takes fewer cycles with rows that are loaded once."""
    loads = saved = shuffles = 0
    for row in rows:
        loads += len(row.places)
        if row.is_shifted(register):
            saved += len(row.places) - row.registers(register)
            shuffles += sum((place - min(row.places)) % register > 0 for place in row.places)
    busy, stores = 0.0, 0.0
    for i in block.instructions:
        if i.op == "store" and not w.is_uniform(i.pointer):
            bits = 8 * w.module.layout.store_size(i.accessed_type)
            stores += memory_cost("store", "contiguous", bits, w.lanes.width, w.isa).cycles
        elif _computes(w, i):
            op = ".".join((i.callee_name or "").split(".")[:2]) if i.op == "call" else i.op
            busy += instruction_cost(op, w.module.layout.bit_size(i.type), w.lanes.width, w.isa).cycles
    each = memory_cost("load", "contiguous", 8 * register // w.isa.lanes(64), w.isa.lanes(64), w.isa).cycles
    each += w.isa.core.wide_split

    def cycles(memory: float, others: float) -> float:
        return max(memory, others) + OVERLAP * min(memory, others)

    picked = cycles(stores + each * (loads - saved), busy + shuffle_cycles(w.isa) * shuffles)
    return picked < WORTHWHILE * cycles(stores + each * loads, busy)


def _computes(w: Widening, i: Instruction) -> bool:
    """Whether an instruction makes a vector of numbers out of others."""
    is_number = isinstance(i.type, (IntType, FloatType))
    return is_number and i.op not in ("load", "phi", "getelementptr") and not w.is_scalar(i)
