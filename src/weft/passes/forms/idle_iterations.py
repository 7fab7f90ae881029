"""Loops that do something for some numbers alone, by their bits, as loops over these numbers.

Of ``if (x + y) % 2 == colour`` they are every other number (`weft.analysis.loops.residue_guards`), which rests on
nothing, and goes for all innermost loops. Every other stretch of a distance (`weft.analysis.loops.half_guards`) rests
on numbers: a distance that is a power of two, a start that is a multiple of twice of it, small natural bounds. They are
tested before the loop, which runs as it was where a test fails. That is done for loops that are said to be parallel:
lanes run along them, every other of which would be idle.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from weft.analysis.loops.half_guards import HalfLoop, half_loop
from weft.analysis.loops.residue_guards import ResidueLoop, residue_loop
from weft.analysis.memory.alias import locate
from weft.diag.remarks import RemarkKind
from weft.graph.loops import Loop, loop_forest
from weft.ir import FALSE, BasicBlock, Builder, Constant, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.layout import DataLayout
from weft.ir.locations import span_of
from weft.passes.declared import Pass
from weft.passes.find_loops import promises_of
from weft.passes.loop_unit import LoopUnit
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.halve_loop import count_of_half, halve_loop
from weft.transform.loops.stride_loop import stride_loop
from weft.transform.loops.version_loop import version_loop

MOST = 8
"""Loops of one function that have versions."""

FEW_BITS = 2
"""Remainders that depend on loops around: of 4, at most. Of 16 a copy of 20,000 floats took three times as long."""


def drop_idle(unit: LoopUnit) -> bool:
    """Let loops run over the numbers alone for which they do something; whether there were any."""
    return sum(_stride(unit, f) + _in_function(unit, f) for f in list(unit.module.definitions())) > 0


def _stride(unit: LoopUnit, function: Function) -> int:
    """Stride loops that do something for one remainder; how many."""
    view = cfg_of(function)
    found = [
        x
        for loop in loop_forest(view.cfg).loops
        if (x := residue_loop(view, loop)) is not None and _may_stride(view, loop, x, unit.module.layout)
    ]
    for each in found:
        unit.remarks.add(
            RemarkKind.TRANSFORM,
            f"this holds for one number in {1 << each.residue.bits} of the loop, which runs over these alone",
            span_of(each.guard.condition),
            pass_name="idle iterations",
        )
        stride_loop(each)
    return len(found)


def _may_stride(view: CFGView, loop: Loop, found: ResidueLoop, layout: DataLayout) -> bool:
    """Whether the remainder is the same in all loops around, or lanes are likely to run along this one.

    Lanes along the others would begin at numbers of their own, and end one by one: the loop has to store one element
    after the other, and to leave out few numbers. Loops with others in them stay what nests are made of.
    """
    if loop.children:
        return False
    around = {view.blocks[b] for each in loop.ancestors() if each is not loop for b in each.blocks}
    parts = (found.residue.wanted, *(value for _, value in found.residue.undone))
    if not any(isinstance(value, Instruction) and value.block in around for value in parts):
        return True
    stores = [i for block in found.loop.blocks for i in block.instructions if i.op == "store"]
    return found.residue.bits <= FEW_BITS and all(
        _is_along(i, found.loop.counter.phi, layout) for i in stores
    )


def _is_along(store: Instruction, counter: Instruction, layout: DataLayout) -> bool:
    """Whether the next iteration stores the next element."""
    size = layout.store_size(store.accessed_type)
    for index, scale in locate(store.pointer, layout).terms.items():
        is_cast = (
            isinstance(index, Instruction) and index.op in ("sext", "zext") and index.operands[0] is counter
        )
        if index is counter or is_cast:
            return scale == size
    return False


def _in_function(unit: LoopUnit, function: Function) -> int:
    """Halve loops that do something in every other stretch; how many."""
    seen: set[BasicBlock] = set()
    made = 0
    while made < MOST:
        view = cfg_of(function)
        found = next(_candidates(view, seen), None)
        if found is None:
            break
        if not made:
            close_loops(function)
            view = cfg_of(function)
        loop = next(x for x in loop_forest(view.cfg).loops if view.blocks[x.header] is found.loop.header)
        _halve(unit, function, view, loop, found, seen)
        made += 1
    return made


def _candidates(view: CFGView, seen: set[BasicBlock]) -> Iterator[HalfLoop]:
    for loop in loop_forest(view.cfg).loops:
        if view.blocks[loop.header] not in seen and promises_of(view, loop).parallel:
            found = half_loop(view, loop)
            if found is not None:
                yield found


def _halve(
    unit: LoopUnit, function: Function, view: CFGView, loop: Loop, found: HalfLoop, seen: set[BasicBlock]
) -> None:
    numbers: list[Value] = []

    def test(b: Builder) -> Value:
        counter = found.loop.counter
        type = counter.type
        limit = const_int(1 << (48 if type.bits == 64 else type.bits - 4), type)
        distance, start, bound = (
            v if isinstance(v, Constant) else b.unary("freeze", v)
            for v in (found.distance, counter.start, found.loop.bound)
        )
        less = b.binary("sub", distance, const_int(1, type))
        ends = b.binary("or", less, distance)
        holds: list[Value] = [
            b.icmp("ult", less, limit),
            b.icmp("eq", b.binary("and", distance, less), const_int(0, type)),
            b.icmp("ult", start, limit),
            b.icmp("eq", b.binary("and", start, ends), const_int(0, type)),
            b.icmp("ult", bound, limit),
            b.icmp("sle", start, bound),
        ]
        numbers.extend((distance, b.unary("freeze", count_of_half(b, found, distance))))
        return reduce(lambda one, other: b.select(one, other, FALSE), holds)

    span = span_of(found.guards[0].condition)
    copies = version_loop(function, view, loop, test)
    header = found.loop.header
    seen |= {header, *copies.values()}
    (preheader,) = (p for p in header.predecessors if p is not found.loop.latch)
    halve_loop(found, preheader, *numbers)
    close_loops(function)
    power = "" if isinstance(found.distance, ConstInt) else ", if its distance is a power of two"
    unit.remarks.add(
        RemarkKind.TRANSFORM,
        f"this holds in every other stretch of the loop, which runs over these alone{power}",
        span,
        pass_name="idle iterations",
    )


IDLE_ITERATIONS: Pass[LoopUnit] = Pass(
    "idle iterations",
    "loops that work for numbers with a certain bit or remainder alone run over these numbers",
    drop_idle,
    optional=True,
)
