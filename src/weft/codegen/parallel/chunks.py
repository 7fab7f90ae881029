"""Running a range of a loop's iterations lane group by lane group: strip mining (Moll, §3.1).

``void chunk(i64 begin, i64 end, counters' first values..., captured..., ptr results...)`` runs iterations `begin` to
``end - 1`` of an outlined loop, counted from 0: whole lane groups first, then what is left under a mask, or in lane
groups of fewer lanes and then under a mask of theirs. Each lane
keeps its own part of every reduction, in cells that LLVM turns into vector registers; at the end the lanes' parts are
combined, and stored where the last parameters point. The value that the loop starts with is no part of that.

Precondition: functions of the body for whole lane groups and for some of their lanes
(`weft.codegen.parallel.parallel_loops`); `begin` is a multiple of the lanes of a group, as the body may rely on where
its lane groups begin. Postcondition: the chunk runs each iteration of its range once, in no order that anybody may rely
on.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.analysis.loops.counted_loops import Counter
from weft.analysis.loops.reductions import Reduction
from weft.codegen.loops import counted_loop
from weft.codegen.parallel.combine import combine_lanes, neutral_element
from weft.graph.loops import loop_forest
from weft.ir import Argument, Builder, ConstInt, ConstSplat, Function, Module, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.intrinsics import FIRST_ATTRIBUTE
from weft.ir.loop_metadata import mark_scalar
from weft.ir.types import I32, I64, PTR, VOID, FunctionType, VectorType
from weft.transform.loops.outline_loop import OutlinedLoop, cell_type

INLINED = ("nounwind", "alwaysinline")
"""Chunks, and bodies in them: the cells of reductions become registers only where these are inlined."""


class LoopBodies(Struct, frozen=True):
    """The SIMD functions of a loop's body.

    Parameters
    ----------
    width
        Lanes; with one there is only `full`, the body itself with lane 0.
    full, partial
        For whole lane groups, and for others, with a parameter more: how many lanes run.
    rest, rest_width
        For whole lane groups of fewer lanes, behind those; `partial` has as few lanes then.
    """

    width: int
    full: Function
    partial: Function | None
    rest: Function | None = None
    rest_width: int = 0


class Cells(Struct, frozen=True):
    """Each lane's part of a reduction: in `whole` for whole lane groups, in `tail` for the masked one.

    The tail has cells of its own: its masked accesses would keep those of the loop in memory.
    """

    type: VectorType
    align: int
    whole: Value
    tail: Value

    @classmethod
    def of(cls, builder: Builder, reduction: Reduction, width: int, module: Module) -> Cells:
        type = VectorType(cell_type(reduction), width)
        align = module.layout.align(type)
        cells = cls(type, align, builder.alloca(type, align=align), builder.alloca(type, align=align))
        neutral = neutral_element(reduction, cell_type(reduction))
        builder.store(ConstSplat(type, neutral), cells.whole, align=align)
        return cells

    def hand_over(self, builder: Builder) -> None:
        builder.store(builder.load(self.type, self.whole, align=self.align), self.tail, align=self.align)


def build_chunk(module: Module, outlined: OutlinedLoop, bodies: LoopBodies, name: str) -> Function:
    """Add the function to `module`."""
    counters, reductions = outlined.parallel.counters, outlined.parallel.reductions
    function = _declare(module, outlined, name)
    begin, end, *rest = function.args
    starts, rest = rest[: len(counters)], rest[len(counters) :]
    captured, results = rest[: len(outlined.captured)], rest[len(outlined.captured) :]
    builder = Builder(function.add_block("entry"))
    cells = [Cells.of(builder, r, bodies.width, module) for r in reductions]
    count = builder.binary("sub", end, begin, ("nuw", "nsw"))
    whole = builder.binary("and", count, ConstInt(I64, -bodies.width))
    middle = builder.binary("add", begin, whole, ("nuw", "nsw"))
    with counted_loop(builder, function, begin, middle, "chunk", bodies.width) as number:
        firsts = _first_values(builder, counters, starts, number)
        builder.call(bodies.full, [*firsts, *captured, *(c.whole for c in cells)])
        back = builder.block
    if bodies.width == 1 and loop_forest(cfg_of(bodies.full).cfg).loops:
        # As with threads (`weft.codegen.order.rows`): loops inside are to be vectors.
        assert back is not None
        mark_scalar(back.terminator)
    if bodies.rest is not None:
        assert not cells, "lanes' parts of reductions are as many as lanes"
        left = builder.binary("sub", end, middle, ("nuw", "nsw"))
        begin, whole = middle, builder.binary("and", left, ConstInt(I64, -bodies.rest_width))
        middle = builder.binary("add", begin, whole, ("nuw", "nsw"))
        with counted_loop(builder, function, begin, middle, "rest", bodies.rest_width) as number:
            builder.call(bodies.rest, [*_first_values(builder, counters, starts, number), *captured])
    if bodies.partial is not None:
        for part in cells:
            part.hand_over(builder)
        left = builder.binary("sub", end, middle, ("nuw", "nsw"))
        tail, done = function.add_block("tail"), function.add_block("done")
        builder.cond_br(builder.icmp("ne", left, ConstInt(I64, 0)), tail, done)
        builder.at_end(tail)
        firsts = _first_values(builder, counters, starts, middle)
        active = builder.cast("trunc", left, I32)
        builder.call(bodies.partial, [*firsts, *captured, *(c.tail for c in cells), active])
        builder.br(done)
        builder.at_end(done)
    for reduction, part, result in zip(reductions, cells, results, strict=True):
        last = part.whole if bodies.partial is None else part.tail
        lanes = builder.load(part.type, last, align=part.align)
        builder.store(combine_lanes(module, builder, reduction.combination, lanes), result)
    builder.ret()
    return function


def _declare(module: Module, outlined: OutlinedLoop, name: str) -> Function:
    counters, reductions = outlined.parallel.counters, outlined.parallel.reductions
    carried = outlined.body.args[: len(counters) + len(outlined.captured)]
    types = [I64, I64, *(a.type for a in carried), *(PTR for _ in reductions)]
    names = ["begin", "end", *(a.name for a in carried), *(f"{r.phi.name or 'r'}.result" for r in reductions)]
    function = Function(name, FunctionType(VOID, tuple(types)), tuple(names))
    function.linkage.linkage = "internal"
    function.attributes = INLINED
    for argument, origin in zip(function.args[2:], carried, strict=False):
        # What a lane group begins with is not what the loop does.
        argument.attributes = tuple(a for a in origin.attributes if not a.startswith(f'"{FIRST_ATTRIBUTE}"'))
    return module.add_function(function)


def _first_values(
    builder: Builder, counters: Sequence[Counter], starts: Sequence[Argument], number: Value
) -> list[Value]:
    """The counters in an iteration."""
    values: list[Value] = []
    for counter, start in zip(counters, starts, strict=True):
        type, steps = counter.type, number
        if type.bits != I64.bits:
            steps = builder.cast("trunc" if type.bits < I64.bits else "zext", number, type)
        if counter.step != 1:
            steps = builder.binary("mul", steps, ConstInt(type, counter.step))
        values.append(builder.binary("add", start, steps))
    return values
