"""Versions of a nest by how far apart its rows are in memory: rows that meet in the sets of a cache stay few.

A first-level cache finds a line by the low bits of its address, in most machines twelve, in ways of eight. Rows whose
distance is near a multiple of 2048 bytes compete for two such sets of lines or one: a box of four rows of a stencil
reads six to eight of them and writes four. So nests whose boxes have more than two rows have a version for such
distances, which are tested before the nest: addresses in its first and second iteration along each loop are subtracted.

Precondition: a nest as `weft.analysis.loops.rectangular_nests` finds it. Postcondition: a copy of it, marked `CLOSE`,
runs where rows compete. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce

from weft.analysis.loops.parallel_loops import ParallelLoop
from weft.analysis.memory.alias import locate
from weft.codegen.parallel.few_iterations import keep_version
from weft.ir import FALSE, BasicBlock, Builder, ConstInt, Instruction, Value
from weft.ir.clone import ValueMap
from weft.ir.effects import is_speculatable
from weft.ir.layout import DataLayout
from weft.ir.loop_metadata import CLOSE
from weft.ir.types import I64
from weft.transform.loops.recomputed import compute_again

PERIOD, NEAR = 2048, 96
"""Rows so near to a multiple of so many bytes compete. Measured on AMD's Zen 4 with the stencils of Moll, §13.4, in
doubles: 4096 and 4112 bytes apart, 4x16 took 0.72 to 1.1 times the speed of 2x16 but for the sparse one; 2464, 4816,
8016 and 16016 apart 1.0 to 1.4 times."""

MOST = 64
"""Instructions of an address that are computed again at most."""


def keep_for_close_rows(
    levels: Sequence[ParallelLoop], rows: Sequence[int], layout: DataLayout
) -> BasicBlock | None:
    """Keep a copy of a nest for when its rows compete; its header, or None where distances are not known before.

    `rows` are the loops, by number, that boxes have several iterations of.
    """
    blocks = set(levels[0].loop.blocks)
    accesses: dict[Value, list[Instruction]] = {}
    for i in (i for block in levels[-1].loop.blocks for i in block.instructions if i.is_plain_access):
        base = locate(i.pointer, layout).base
        # What all iterations read, such as weights, is at hand.
        if base not in accesses and isinstance(i.pointer, Instruction) and i.pointer.block in blocks:
            address = _slice(i.pointer, levels, blocks)
            if not address:
                return None
            accesses[base] = address
    if not accesses:
        return None

    def are_apart(builder: Builder) -> Value:
        close: list[Value] = []
        for address in accesses.values():
            first = _address(builder, levels, address, None)
            for row in rows:
                distance = builder.binary("sub", _address(builder, levels, address, row), first)
                # Of a nest without a second iteration it may be anything.
                moved = builder.binary("add", builder.unary("freeze", distance), ConstInt(I64, NEAR))
                place = builder.binary("and", moved, ConstInt(I64, PERIOD - 1))
                close.append(builder.icmp("ule", place, ConstInt(I64, 2 * NEAR)))
        some = reduce(lambda a, b: builder.binary("or", a, b), close)
        return builder.icmp("eq", some, FALSE)

    return keep_version(levels[0], are_apart, CLOSE, "close")


def _slice(
    pointer: Value, levels: Sequence[ParallelLoop], blocks: Collection[BasicBlock | None]
) -> list[Instruction] | None:
    """What an address is computed by in a nest, in order, from its counters; None where there is more to it."""
    counters = {counter.phi: counter for level in levels for counter in level.counters}
    found: dict[Instruction, None] = {}
    seen: set[Value] = set()

    def visit(value: Value) -> bool:
        if value in seen or not isinstance(value, Instruction) or value.block not in blocks:
            return True
        seen.add(value)
        if value in counters:
            start = counters[value].start
            return not isinstance(start, Instruction) or start.block not in blocks
        if not is_speculatable(value) or len(seen) > MOST or not all(map(visit, value.operands)):
            return False
        found[value] = None
        return True

    return list(found) if visit(pointer) else None


def _address(
    builder: Builder, levels: Sequence[ParallelLoop], address: Sequence[Instruction], second: int | None
) -> Value:
    """The address in the first iteration of a nest, but the second one of one of its loops."""
    values: ValueMap = {}
    for number, level in enumerate(levels):
        for counter in level.counters:
            step = ConstInt(counter.type, counter.step)
            begins = counter.start if number != second else builder.binary("add", counter.start, step)
            values[counter.phi] = begins
    compute_again(builder, address, values)
    return builder.cast("ptrtoint", values[address[-1]], I64)
