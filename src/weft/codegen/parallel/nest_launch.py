"""Running an outlined nest on all cores: its iterations become a job of the thread pool, cut into tiles.

A tile is a box of iterations: so many of the outermost loop, so many of the next one, all of those inside. Its size
depends on the numbers of iterations alone, and is a multiple of the lane group's along both loops, but for the last
ones, to which what is left over is added if it is less than a lane group: boxes that overlap need no mask there. All
else is as in `weft.codegen.parallel.parallel_launch`; the record holds, before what the nest captures, the iterations
of each loop, the rows and columns of a tile, and how many tiles are side by side.

Precondition: a nest that has been strip-mined (`weft.codegen.parallel.brushed_nests`). Postcondition: its function
calls the pool in its place. Preserves the program under FR, but for the order of iterations and of what reductions
combine.
"""

from __future__ import annotations

from weft.analysis.loops.counted_loops import build_iterations
from weft.codegen.loops import counted_loop
from weft.codegen.parallel.parallel_launch import (
    MOST_GRAINS,
    Record,
    declare_grains,
    least_groups,
    quotient,
    run_as_job,
)
from weft.codegen.parallel.parallel_loops import StripMinedLoop
from weft.ir import Builder, Function, Module, Value
from weft.ir.builder import const_int
from weft.ir.intrinsics import PURE
from weft.ir.types import I32, I64, PTR, FunctionType
from weft.transform.loops.outline_loop import cell_type
from weft.transform.loops.outline_nest import OutlinedNest
from weft.transform.loops.replace_loop import open_preheader

PANEL_BOXES = 32
"""Boxes, or more, that read a panel (`weft.codegen.parallel.panels`). Of 192 by 192 doubles with 3 of them none was
packed, and the product took 545 us; 290 with as many as there are rows."""


def run_nest_in_parallel(module: Module, mined: StripMinedLoop, name: str) -> None:
    """Let the nest's function hand the nest to the thread pool instead of running it."""
    outlined = mined.outlined
    assert isinstance(outlined, OutlinedNest)
    levels = len(outlined.levels)
    reductions = outlined.parallel.reductions
    record = Record((*[I64] * (levels + 3), *(v.type for v in outlined.captured), *(PTR for _ in reductions)))
    grains = _build_grains(module, mined, outlined, record, name)
    builder = open_preheader(outlined.parallel.loop)
    counts = [build_iterations(level.loop, builder) for level in outlined.levels]
    shape, number = _tiles(module, builder, counts, mined)
    run_as_job(
        module,
        builder,
        outlined.parallel,
        record,
        [*counts, *shape, *outlined.captured],
        grains,
        number,
        counts[0],
    )


def _tiles(
    module: Module, builder: Builder, counts: list[Value], mined: StripMinedLoop
) -> tuple[list[Value], Value]:
    """Rows and columns of a tile, and tiles side by side; and the number of tiles."""
    umax = module.declare("llvm.umax.i64", FunctionType(I64, (I64, I64)), PURE)

    def most(a: Value, b: Value) -> Value:
        return builder.call(umax, (a, b))

    def rounded(value: Value, extent: int) -> Value:
        return builder.binary("and", builder.binary("add", value, const_int(extent - 1)), const_int(-extent))

    one, grains = const_int(1), const_int(MOST_GRAINS)
    extents, least = mined.lanes.by_axis(len(counts)), least_groups(mined) * mined.width

    def cut(first: int, second: int) -> tuple[Value, Value]:
        """Iterations of a tile along two loops: as few as can be along the first, and all along the second, if many."""
        across = counts[second]
        for count in counts[2:]:
            across = builder.binary("mul", across, count)
        few = most(
            quotient(builder, counts[first], grains), quotient(builder, const_int(least), most(across, one))
        )
        few = rounded(few, extents[first])
        beside = most(builder.binary("udiv", grains, most(quotient(builder, counts[first], few), one)), one)
        smallest = quotient(builder, const_int(least), few) if len(counts) == 2 else one
        many = most(most(quotient(builder, counts[second], beside), smallest), one)
        return few, rounded(many, extents[second])

    if mined.packs:
        # Boxes of a column read the same panel, which is copied once for a tile.
        length, height = cut(1, 0)
        height = most(height, const_int(PANEL_BOXES * extents[0]))
    else:
        height, length = cut(0, 1)
    less = module.declare("llvm.usub.sat.i64", FunctionType(I64, (I64, I64)))
    umin = module.declare("llvm.umin.i64", FunctionType(I64, (I64, I64)), PURE)

    def tiles(count: Value, extent: int, size: Value) -> Value:
        """Tiles along a loop: what is less than a lane group goes to the one before."""
        begun = builder.call(less, (count, const_int(extent - 1)))
        return quotient(builder, most(begun, builder.call(umin, (count, one))), size)

    down, across = tiles(counts[0], extents[0], height), tiles(counts[1], extents[1], length)
    return [height, length, across], builder.binary("mul", down, across)


def _build_grains(
    module: Module, mined: StripMinedLoop, outlined: OutlinedNest, record: Record, name: str
) -> Function:
    """The function that the pool calls for a run of tiles."""
    function = declare_grains(module, name)
    memory, begin, end, _ = function.args
    builder = Builder(function.add_block("entry"))
    levels = len(outlined.levels)
    values = record.load(builder, memory)
    counts, (height, length, across), values = (
        values[:levels],
        values[levels : levels + 3],
        values[levels + 3 :],
    )
    captured, parts = values[: len(outlined.captured)], values[len(outlined.captured) :]
    extents = mined.lanes.by_axis(levels)
    with counted_loop(builder, function, begin, end, "tile") as tile:
        row, column = builder.binary("udiv", tile, across), builder.binary("urem", tile, across)
        ranges = [
            *_along(builder, row, height, counts[0], extents[0]),
            *_along(builder, column, length, counts[1], extents[1]),
            *(n for count in counts[2:] for n in (const_int(0), count)),
        ]
        results = [
            builder.gep(cell_type(r), part, (tile,), ("inbounds", "nuw"))
            for r, part in zip(outlined.parallel.reductions, parts, strict=True)
        ]
        builder.call(mined.chunk, [*ranges, *captured, *results])
    builder.ret(const_int(0, I32))
    return function


def _along(builder: Builder, number: Value, size: Value, count: Value, extent: int) -> tuple[Value, Value]:
    """Where a tile begins along a loop of so many iterations, and where it ends."""
    begin = builder.binary("mul", number, size, ("nuw", "nsw"))
    whole = builder.binary("add", begin, size, ("nuw", "nsw"))
    behind = builder.binary("add", whole, const_int(extent), ("nuw", "nsw"))
    return begin, builder.select(builder.icmp("ult", count, behind), count, whole)
