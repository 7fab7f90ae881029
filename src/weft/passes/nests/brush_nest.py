"""The step of the lists for loops that vectorizes several loops of a nest together, for every door."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from msgspec.structs import replace

from weft.analysis.loops.parallel_loops import Obstacle, ParallelLoop, parallel_loop
from weft.analysis.loops.rectangular_nests import rectangular_nest
from weft.analysis.loops.shared_rows import shared_row
from weft.analysis.sequential.repeatable import repeatable
from weft.brush import AUTO, Brush
from weft.codegen.parallel.brush_choice import (
    WORTHWHILE,
    WORTHWHILE_IN_LOOPS,
    Weighed,
    elements_of_register,
    is_of_one_loop,
    weigh_brushes,
)
from weft.codegen.parallel.brushed_nests import strip_mine_nest_in_boxes
from weft.codegen.parallel.few_iterations import keep_for_rows, keep_for_short_rows
from weft.codegen.parallel.parallel_loops import StripMinedLoop
from weft.codegen.parallel.row_versions import keep_for_close_rows
from weft.costs.streams import MORE_ROWS, Streams, streams
from weft.diag.remarks import RemarkKind
from weft.diag.source import SourceSpan
from weft.graph.loops import Loop, loop_forest
from weft.ir import Builder, ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.locations import span_of
from weft.passes.find_loops import LegalLoop, promises_of
from weft.passes.loop_unit import FoundLoop, LoopUnit
from weft.transform.loops.build_tests import build_tests

_BITS = frozenset({"and", "lshr", "ashr", "udiv", "sdiv", "urem", "srem"})

MOST_ROWS, BESIDE, MOST_TOGETHER = 8, 2, 128
"""Rows, registers side by side, and lanes of a brush that shares rows. More values do not stay in registers, and more
lanes, of floats with AVX-512, take 0.8 of the time and 1.7 times as long to compile."""


SHORT = 4
"""Iterations of the innermost loop in a box for short rows. 50,000 products of 4 by 4 floats took 0.47 to 0.53 of the
time of masked rows in boxes of 4x4 and 2x4x4."""

MOST_FOR_SHORT = 64
"""Instructions of a nest that gets a version for short rows; what is greater takes long to compile."""


def brush_nest(
    unit: LoopUnit, found: LegalLoop, name: str, *, only_promised: bool, may_pack: bool = False
) -> FoundLoop | None:
    """Strip-mine the nest that begins with a loop in the boxes of the unit's brush.

    None, with a remark, where it is no nest or has fewer loops than the brush has dimensions; without one where the
    unit has no brush. With `only_promised` it has no loops that the user promises nothing of; with `may_pack` its code
    may allocate memory.
    """
    brush, plan, unit.row = unit.brush, found.plan, None
    told = promises_of(found.view, found.wanted.loop)
    if brush is None or told.rows or (told.kept and brush == AUTO):
        unit.row = _row(unit, _nest_of(unit, found, only_promised)) if told.streams else None
        return None
    levels = _nest_of(unit, found, only_promised)
    span = span_of(plan.loop.exiting.terminator)
    if isinstance(levels, Obstacle) and brush == AUTO:
        return None
    if isinstance(levels, Obstacle):
        where = (levels.at and span_of(levels.at)) or span
        message = f"the loops of this nest are not vectorized together: {levels.message}"
        unit.remarks.add(RemarkKind.MISSED, message, where, levels.hint, "parallel loops")
        return None
    reason = "as asked for"
    if brush == AUTO and told.short_rows:
        brush, reason = _for_short_rows(unit, levels), "where its innermost loop has few iterations"
    if isinstance(brush, str):
        weighed = unit.weighed_before.pop(plan.loop.header, None)
        if weighed is None:
            weighed = weigh_brushes(unit.module, levels, unit.boscc, unit.switches, name)
        unit.weighed = unit.weighed or weighed
        waits = _waits(unit, levels, weighed)
        chosen = _choose(weighed, waits)
        many = _choose_many(weighed, chosen, waits) if not told.close_rows else None
        rows = [] if many is None else many.brush.rows_of(len(levels))
        if many is not None and (copy := keep_for_close_rows(levels, rows, unit.module.layout)) is not None:
            chosen, unit.weighed_before[copy] = many, weighed
            found = again(unit, found)
            levels = _nest_of(unit, found, only_promised)
            assert not isinstance(levels, Obstacle), levels.message
        if chosen is None:
            unit.row = None if waits.gains else _row(unit, levels)
            return None
        brush, alone = chosen.brush, min(w.cycles for w in weighed if is_of_one_loop(w.brush))
        reason = f"which takes {100 * chosen.cycles / alone:.0f} % of the inner loop alone by the cost model"
        if told.close_rows:
            reason += ", where its rows compete for the same places of the cache"
        keep_for_rows(levels, (*(1 for _ in levels[brush.rank :]), *brush.extents), waits.most)
        found = again(unit, found)
        levels = _nest_of(unit, found, only_promised)
        assert not isinstance(levels, Obstacle), levels.message
    if len(levels) < brush.rank:
        message = f"the brush {brush} has {brush.rank} dimensions, and this nest {len(levels)} loops"
        unit.remarks.add(
            RemarkKind.MISSED, message, span, "use a brush of fewer dimensions", "parallel loops"
        )
        return None
    repeats, apart = _may_repeat(unit, found, levels, brush)
    mined = strip_mine_nest_in_boxes(
        unit.module, levels, brush, reason, name, unit.isa, unit.runner, repeats, apart, may_pack
    )
    _remark_sharing(unit, mined, span)
    return FoundLoop(mined, span_of(levels[-1].loop.exiting.terminator), "this nest")


def _remark_sharing(unit: LoopUnit, mined: StripMinedLoop, span: SourceSpan | None) -> None:
    if mined.packs:
        what = "what boxes in a column read in common of each row is copied to one piece of memory, where they are many"
        unit.remarks.add(RemarkKind.TRANSFORM, what, span, pass_name="parallel loops")
    if mined.shares:
        what = "loads are shared across stores where what this nest writes is apart from what it reads, which is tested"
        unit.remarks.add(RemarkKind.TRANSFORM, what, span, pass_name="parallel loops")


def with_short_rows(unit: LoopUnit, found: LegalLoop, *, only_promised: bool) -> LegalLoop:
    """Give a nest whose brush weft chooses a version for when its innermost loop has few iterations; it, as it is then.

    Without effect for a loop that is no nest, for a great one, and where a register has few elements.
    """
    told = promises_of(found.view, found.wanted.loop)
    if unit.brush != AUTO or told.rows or told.short_rows or told.kept:
        return found
    levels = _nest_of(unit, found, only_promised)
    if isinstance(levels, Obstacle) or not _may_have_short_rows(levels):
        return found
    elements = elements_of_register(unit.module, levels, unit.isa)
    if elements <= SHORT:
        return found
    # Lanes along the loop add up each row for itself; of others fewer than a box has gain nothing.
    keep_for_short_rows(levels, 1 if levels[0].reductions else SHORT, elements // 2)
    return again(unit, found)


def _may_have_short_rows(levels: Sequence[ParallelLoop]) -> bool:
    """Whether the innermost loop may go through channels, coordinates or columns: these it does from the first on."""
    first = levels[-1].loop.counter.start
    instructions = sum(len(block.instructions) for block in levels[0].loop.blocks)
    return isinstance(first, ConstInt) and first.value == 0 and instructions <= MOST_FOR_SHORT


def _for_short_rows(unit: LoopUnit, levels: Sequence[ParallelLoop]) -> Brush:
    """Rows of a few iterations that fill a register together."""
    rows = elements_of_register(unit.module, levels, unit.isa) // SHORT
    return Brush((rows, SHORT), (1, 0))


def _nest_of(unit: LoopUnit, found: LegalLoop, only_promised: bool) -> tuple[ParallelLoop, ...] | Obstacle:
    view, wanted = found.view, found.wanted

    def promised(loop: Loop) -> bool:
        return wanted.whole_nest or (wanted.promised and promises_of(view, loop).parallel)

    return rectangular_nest(
        found.function,
        view,
        wanted.loop,
        found.plan,
        unit.module.layout,
        promised,
        only_promised=only_promised,
    )


def again(unit: LoopUnit, found: LegalLoop) -> LegalLoop:
    """The loop in the function as it is now."""
    header, wanted, view = found.plan.loop.header, found.wanted, cfg_of(found.function)
    loop = loop_forest(view.cfg).headed_by[view.index[header]]
    assert loop is not None
    plan = parallel_loop(
        found.function, view, loop, unit.module.layout,
        promised=wanted.promised, reassociate=wanted.reassociate,
    )  # fmt: skip
    assert isinstance(plan, ParallelLoop), plan.message
    return replace(found, view=view, wanted=replace(wanted, loop=loop), plan=plan)


def _may_repeat(
    unit: LoopUnit, found: LegalLoop, levels: Sequence[ParallelLoop], brush: Brush
) -> tuple[Value | None, Collection[Value]]:
    """Build the test, before a nest, whether its iterations may run twice; None where they may not.

    Nor may they where it counts that boxes begin at multiples of their extents: with bits of counters, as in the
    addresses of arrays in blocks. With it come the arrays that are apart then, if it pays to know.
    """
    outer = levels[0]
    if outer.reductions or prod(brush.extents) == 1:
        return None, ()
    inside = [i for block in outer.loop.blocks for i in block.instructions]
    if any(i.op in _BITS and not all(isinstance(v, ConstInt) for v in i.operands) for i in inside):
        return None, ()
    arrays = unit.arrays if found.function is unit.function else ()
    known = repeatable(unit.module, found.function, outer.loop.header, arrays)
    if known is None:
        return None, ()
    before = Builder(before=outer.loop.preheader.terminator)
    test = build_tests(before, known.made, known.tests, known.loop)
    return test, known.arrays if known.may_share_more else ()


def share_rows(unit: LoopUnit, found: LegalLoop, name: str, *, may_pack: bool = False) -> FoundLoop | None:
    """Strip-mine a nest that is found to be parallel in boxes, if iterations of both loops share what they load.

    With `may_pack` its code may allocate memory.
    """
    view, layout = found.view, unit.module.layout
    told = promises_of(view, found.wanted.loop)
    if unit.width is not None or not told.proved or told.rows:
        return None

    def proved(loop: Loop) -> bool:
        return promises_of(view, loop).proved and promises_of(view, loop).parallel

    levels = rectangular_nest(
        found.function, view, found.wanted.loop, found.plan, layout, proved, only_promised=True
    )
    if isinstance(levels, Obstacle):
        return None
    size = shared_row(found.function, view, levels[-2], levels[-1], layout)
    brush = _for_shared_rows(unit, view, levels, size) if size else None
    if brush is None:
        return None
    why = "iterations of both loops share what they load"
    repeats, apart = _may_repeat(unit, found, levels, brush)
    mined = strip_mine_nest_in_boxes(
        unit.module, levels, brush, why, name, unit.isa, unit.runner, repeats, apart, may_pack
    )
    _remark_sharing(unit, mined, span_of(found.plan.loop.exiting.terminator))
    return FoundLoop(mined, span_of(levels[-1].loop.exiting.terminator), "this nest")


def _for_shared_rows(
    unit: LoopUnit, view: CFGView, levels: Sequence[ParallelLoop], size: int
) -> Brush | None:
    """Rows of two registers, so many that half of the registers have what loops inside carry for each of them.

    What is loaded of a row serves all rows then, and what is loaded of a column both registers; and there are enough
    sums that none waits for the one before it. The products of 1000 by 1000 doubles with AVX-512 took 60 ms in boxes of
    8x16 under `fastmath`, 47 with what was packed, 49 in 4x16 and 61 in 8x8, where OpenBLAS took 31 to 36.
    """
    columns = min(BESIDE * unit.isa.vector_bits // (8 * size), MOST_TOGETHER // 2)
    rows = unit.isa.vector_registers // (2 * BESIDE * max(1, _carried(view, levels[-1])))
    rows = min(MOST_ROWS, MOST_TOGETHER // columns, 1 << (rows.bit_length() - 1)) if rows else 0
    return Brush((rows, columns), (1, 0)) if rows > 1 and columns > 1 else None


def _carried(view: CFGView, innermost: ParallelLoop) -> int:
    """How many values other than counters the loops inside of a nest hand on."""
    inside = set(innermost.loop.blocks) - {innermost.loop.header}
    headers = {view.blocks[loop.header] for loop in loop_forest(view.cfg).loops} & inside
    return sum(phi.type.is_float for header in headers for phi in header.phis())


def _waits(unit: LoopUnit, levels: Sequence[ParallelLoop], weighed: Sequence[Weighed]) -> Streams:
    """What a nest gets from memory, and how far its rows may go together."""
    if not any(w.streams for w in weighed):
        return Streams(compete=False)
    inside = levels[-1].loop.blocks
    accesses = [i for block in inside for i in block.instructions if i.is_plain_access]
    # What all iterations read, such as weights, is at hand.
    accesses = [i for i in accesses if isinstance(i.pointer, Instruction) and i.pointer.block in inside]
    alone = min(w.cycles for w in weighed if is_of_one_loop(w.brush))
    return streams(accesses, alone, unit.module.layout, unit.isa.core)


def _row(unit: LoopUnit, levels: Sequence[ParallelLoop] | Obstacle) -> int | None:
    """In how many lanes the innermost loop of a nest runs that waits for memory: one register is read most steadily.

    Of Jacobi-5 and its sparse form, at 1000 and 1024 doubles a row, two took 1.05 to 1.15 times as long.
    """
    return None if isinstance(levels, Obstacle) else elements_of_register(unit.module, levels, unit.isa)


def _choose_many(weighed: Sequence[Weighed], chosen: Weighed | None, waits: Streams) -> Weighed | None:
    """A brush of more rows than the one that is chosen, for rows that do not compete; None where it gains nothing."""
    if not waits.by_distance or not weighed:
        return None
    best = min(weighed, key=lambda w: w.cycles * (MORE_ROWS if w.competes else 1))
    alone = min(w.cycles for w in weighed if is_of_one_loop(w.brush))
    most = WORTHWHILE * alone if chosen is None else chosen.cycles
    return best if best.competes and MORE_ROWS * best.cycles < most else None


def _choose(weighed: Sequence[Weighed], waits: Streams) -> Weighed | None:
    """The best brush; None where the innermost loop alone is as good."""
    alone = [w.cycles for w in weighed if is_of_one_loop(w.brush)]
    chosen = next((w for w in weighed if not (w.competes and waits.compete)), None)
    if chosen is None or not waits.gains:
        return None
    worthwhile = WORTHWHILE if chosen.streams else WORTHWHILE_IN_LOOPS
    return chosen if chosen.cycles <= worthwhile * min(alone) else None
