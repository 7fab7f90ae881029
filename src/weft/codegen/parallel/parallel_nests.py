"""Two parallel loops, one inside of the other, as SIMD code: lanes along the inner one, threads along both.

The inner loop is vectorized where it stands, and becomes a call of its chunk; the outer one, a loop with such a call in
it, runs iteration after iteration in chunks of its own. Where the nest is tiled (`weft.analysis.loops.parallel_nests`),
the call runs the part of the inner range that two placeholders stand for, values of which each tile has its own.

Precondition: a nest as `weft.analysis.loops.parallel_nests` finds it, in canonical P-LLVM. Postcondition: as of
`weft.codegen.parallel.parallel_loops` for both loops; a tile computes again what is between the two.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.loops.counted_loops import build_iterations
from weft.analysis.loops.parallel_loops import ParallelLoop, parallel_loop
from weft.analysis.loops.parallel_nests import ParallelNest
from weft.codegen.parallel.few_iterations import keep_for_few
from weft.codegen.parallel.parallel_loops import StripMinedLoop, run_in_place, strip_mine
from weft.graph.loops import loop_forest
from weft.ir import Builder, Function, Module, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import cfg_of
from weft.machine.targets import Isa
from weft.passes.runner import Runner


class Tiling(Struct, frozen=True):
    """How the inner loop of a nest is cut.

    Parameters
    ----------
    begin, end
        What stands for the part of its iterations that a tile runs.
    count
        How many it has, known before the outer loop.
    """

    begin: Value
    end: Value
    count: Value


class StripMinedNest(Struct, frozen=True):
    """What became of a nest: the outer loop, run iteration after iteration, and the inner one in it."""

    outer: StripMinedLoop
    inner: StripMinedLoop
    tiling: Tiling | None


def strip_mine_nest(
    module: Module,
    outer: ParallelLoop,
    nest: ParallelNest,
    name: str,
    width: int | None,
    isa: Isa,
    runner: Runner,
    reason: str = "as asked for",
    *,
    arrays_apart: bool = False,
) -> StripMinedNest:
    """Add the functions that run the nest; the inner loop becomes a call, the outer one stays as it is.

    `reason` is for the `width`; `arrays_apart` as for `strip_mine`.
    """
    function = outer.loop.header.function
    assert function is not None
    tiling = _cut(outer, nest) if nest.tiled else None
    plan = nest.inner if nest.tiled else keep_for_few(module, nest.inner, width, isa)
    inner = strip_mine(
        module, plan, f"{name}.inner", width, isa, runner, reason, narrows=True, arrays_apart=arrays_apart
    )
    if tiling is None:
        run_in_place(module, inner)
    else:
        run_in_place(module, inner, tiling.begin, tiling.end)
    around = _parallel_again(module, function, outer)
    return StripMinedNest(strip_mine(module, around, name, 1, isa, runner), inner, tiling)


def _cut(outer: ParallelLoop, nest: ParallelNest) -> Tiling:
    builder = Builder(before=outer.loop.preheader.terminator)
    begin, end = (builder.unary("freeze", const_int(0), name=f"tile.{part}") for part in ("begin", "end"))
    return Tiling(begin, end, build_iterations(nest.inner.loop, builder))


def _parallel_again(module: Module, function: Function, outer: ParallelLoop) -> ParallelLoop:
    """The outer loop as it is now. That it is parallel has been found, or promised, before."""
    view = cfg_of(function)
    loop = next(x for x in loop_forest(view.cfg).loops if view.blocks[x.header] is outer.loop.header)
    layout = module.layout
    found = parallel_loop(function, view, loop, layout, promised=True, reassociate=True)
    assert isinstance(found, ParallelLoop), found.message
    return found
