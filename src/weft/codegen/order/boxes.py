"""Lane groups of work-groups with short rows: boxes of threads, neighbours along x, y and z.

Where a row of a work-group has fewer threads than a register has lanes, several rows share a lane group: of a
work-group of 8 by 8 threads the lanes of 16 are 8 by 2. The lane space is then two-dimensional (or three-dimensional),
and `weft.analysis.shapes` keeps a stride for each dimension, so that it is still known what neighbours along x and
along y have to do with each other. Which box is best is a matter of cost: more lanes share what is the same for all
and pass fewer barriers (none at all where the box is the whole work-group), fewer lanes have more accesses that are
contiguous or uniform, and waste fewer lanes beyond the edges of the work-group. A column, 1 by 16, is a box, too: where
neighbours along y access neighbouring elements, it is the best one in work-groups with long rows. Where rows share
much of what they read, as in products of tiles, or gather columns of a tile, which a box turns in registers
(`weft.codegen.widen.chunked`), it is several rows of a register each. Moll's brushes (§11.1) are such
boxes of a loop nest's iterations.
"""

from __future__ import annotations

import functools
from math import inf, prod

from weft.analysis.divergence import Divergence, FunctionFacts, analyze_divergence
from weft.analysis.divergence.result import Form
from weft.analysis.shapes import Shape, domain_named
from weft.brush import Brush
from weft.codegen.order.width import MAX_WIDTH, one_register
from weft.codegen.widen.chunked import cost_of_pieces
from weft.codegen.widen.lanes import LaneSpace
from weft.costs.constants import constants_of
from weft.costs.lane_groups import WidthModel
from weft.costs.memory import memory_cycles
from weft.ir import Function, Instruction, Value
from weft.machine.targets import Isa
from weft.transform.boscc.insertion import BOX_TWIN_LIMIT
from weft.transform.groups.work_items import WorkItems
from weft.transform.splitting.barriers import barriers_of

Block = tuple[int, int, int]

ROWS = 4
"""Rows of a register each, or half as many of two, that share a lane group: what they have in common is loaded once."""

LEAST_BITS = 128
"""Registers that are no wider hold too little of a box for all of these."""


def is_whole(lanes: LaneSpace, block: Block) -> bool:
    """Whether all lanes of all lane groups of the work-group are threads."""
    return all(n % m == 0 for n, m in zip(block, lanes.by_axis(3), strict=True))


def warp_box(block: Block, warp: int) -> LaneSpace | None:
    """The box that the threads of each warp, consecutive linear numbers, are; None where they are none."""
    lanes = box_of(block, warp)
    rows_are_whole = all(n == m for n, m in zip(block, lanes.extents[:-1], strict=False))
    return lanes if rows_are_whole and lanes.width == warp and is_whole(lanes, block) else None


def brush_box(brush: Brush) -> LaneSpace:
    """The box of a brush, whose dimensions are z, y and x, or y and x."""
    return LaneSpace(brush.in_order, tuple(brush.rank - 1 - d for d in brush.projection))


def covers(lanes: LaneSpace, block: Block) -> bool:
    """Whether the work-group is one lane group."""
    return _count(lanes, block) == 1


def box_shapes(function: Function, lanes: LaneSpace, block: Block | None = None) -> dict[Value, Shape]:
    """The shapes of a kernel's positions in lane groups that are boxes; of work-groups of `block` threads, if given."""
    domain = domain_named("product", lanes.extents)
    tid = WorkItems.of(function).tid
    shapes: dict[Value, Shape] = {}
    for d, extent in enumerate(lanes.extents):
        unit = tuple(int(d == other) for other in range(len(lanes.extents)))
        axis = lanes.along(d)
        only_one = block is not None and block[axis] <= extent
        shapes[tid[axis]] = domain.strided(unit, 64, 0 if only_one else extent)
    return shapes


def choose_box(facts: FunctionFacts, block: Block, isa: Isa, most_lanes: int, lock_step: bool) -> LaneSpace:
    """Return the lane space in which a thread of a kernel, in work-groups of `block`, is expected to take least time.

    `facts` are those of the kernel. With `lock_step`, a work-group that is one lane group needs no barrier.
    """
    constants = constants_of(isa)
    weights = barrier_weights(facts, constants.loop_weight)

    register = min(one_register(isa), most_lanes)

    @functools.cache
    def better_columns() -> bool:
        return _columns_are_better(facts, isa)

    def cost(lanes: LaneSpace) -> float:
        groups = _count(lanes, block)
        rounds = 1.0 if lock_step and groups == 1 else 1.0 + weights
        divergence = _analyze_box(facts, lanes.extents, block)
        in_pieces = _made_in_pieces(divergence, lanes, isa)
        if register <= lanes.extents[0] < lanes.width and not (in_pieces or _rows_share(divergence)):
            return inf
        if lanes.extents[0] == 1 < block[0] and not better_columns():
            return inf
        model = WidthModel(divergence, isa, in_pieces)
        cycles = lanes.width * model.cycles_of_thread(lanes.width) + constants.round * rounds
        return groups * cycles

    return min(_candidates(block, register, min(MAX_WIDTH, most_lanes)), key=cost)


def prefers_boxes(facts: FunctionFacts, isa: Isa) -> bool:
    """Whether boxes of several rows, or columns, are better than rows in work-groups of any size.

    `facts` are those of the kernel.
    """
    if not WorkItems.of(facts.function).tid[1].is_used:
        return False
    register = one_register(isa)
    worthwhile = constants_of(isa).boxes_worthwhile
    several = _analyze_box(facts, (register, ROWS))
    in_pieces = _made_in_pieces(several, LaneSpace((register, ROWS)), isa)
    if in_pieces or _rows_share(several):
        rows = WidthModel(_analyze_box(facts, (register,)), isa).cycles_of_thread(register)
        if WidthModel(several, isa, in_pieces).cycles_of_thread(ROWS * register) < worthwhile * rows:
            return True
    return _columns_are_better(facts, isa)


def box_of_shared_rows(facts: FunctionFacts, isa: Isa) -> tuple[int, int] | None:
    """The rows and columns of a box for work-groups of any size whose rows share what a loop loads; None for none.

    That is so in products of matrices. The loop has to run as often for all threads: what is under a mask is not
    shared. Measured on AMD's Zen 4, doubles and floats, 200 to 512 a row, in work-groups of 16x16, 64x4 and 32x8
    threads, over rows beyond work-groups: 1.6 to 2.7 with AVX-512 (4x16), 1.35 to 1.8 with AVX2 (4x8). With SSE2 it is
    0.99 to 1.09 (4x4).
    """
    if isa.vector_bits <= LEAST_BITS or not WorkItems.of(facts.function).tid[1].is_used:
        return None
    if sum(1 for _ in facts.function.instructions()) > BOX_TWIN_LIMIT:
        return None
    box = _analyze_box(facts, (one_register(isa), ROWS))
    view, loops = facts.view, facts.propagation.loops
    for loop in loops.loops:
        exits = (view.blocks[source].terminator for source, _ in loop.exit_edges)
        if all(not b.operands or box.is_uniform(b.operands[0]) for b in exits) and any(
            _is_shared_row(box, i) for n in loop.blocks for i in view.blocks[n].instructions
        ):
            return ROWS, one_register(isa)
    return None


def _is_shared_row(divergence: Divergence, i: Instruction) -> bool:
    """Whether rows load the same elements, each thread of one another."""
    runs = divergence.access_form(i).runs if i.op == "load" else None
    return runs is not None and bool(runs.same) and runs.length > 1


def _analyze_box(facts: FunctionFacts, extents: tuple[int, ...], block: Block | None = None) -> Divergence:
    """Analyze boxes in work-groups of `block` threads, or of any size."""
    lanes = LaneSpace(extents)
    shapes = box_shapes(facts.function, lanes, block)
    domain = domain_named("product", extents)
    return analyze_divergence(facts.function, domain=domain, initial=shapes, width=lanes.width, facts=facts)


def _columns_are_better(facts: FunctionFacts, isa: Isa) -> bool:
    """Whether memory operations cost less along y than along x (`weft.codegen.order.dimension`)."""
    register = one_register(isa)
    rows, columns = (_analyze_box(facts, extents) for extents in ((register,), (1, register)))
    wanted = constants_of(isa).boxes_worthwhile * memory_cycles(rows, register, isa)
    return memory_cycles(columns, register, isa) < wanted


def _made_in_pieces(divergence: Divergence, lanes: LaneSpace, isa: Isa) -> dict[Instruction, float]:
    """The cycles of accesses that rows gather, and boxes make in pieces: what is turned, from rows to columns."""
    if sum(extent > 1 for extent in lanes.extents) < 2:
        return {}
    found: dict[Instruction, float] = {}
    layout = divergence.function.layout
    for access in divergence.function.instructions():
        if not access.is_plain_access:
            continue
        form, strides = divergence.access_form(access), divergence.shape(access.pointer).strides
        known = [s for s in strides if isinstance(s, int)]
        if form.form is not Form.GATHER or len(known) < len(strides) or len(known) < len(lanes.extents):
            continue
        size = layout.store_size(access.accessed_type)
        places = [
            sum(stride * lanes.coordinate(t, d) for d, stride in enumerate(known)) for t in range(lanes.width)
        ]
        cost = cost_of_pieces(places, size, min(lanes.width, isa.lanes(8 * size)))
        if cost is not None:
            found[access] = cost
    return found


def _rows_share(divergence: Divergence) -> bool:
    """Whether rows load the same elements, each thread another one: what else they have in common costs little."""
    return any(_is_shared_row(divergence, i) for i in divergence.function.instructions())


def _candidates(block: Block, register: int, most: int) -> list[LaneSpace]:
    """Boxes of one row, of a register of 32-bit values, and of more; and columns."""
    row = min(_up(block[0]), most)
    if row < register:
        boxes = [box_of(block, size) for size in (row, register, most)]
    else:
        boxes = [
            box
            for wide in (register, min(2 * register, row))
            for box in _rows_of(wide, block, register, most)
        ]
    columns = [
        LaneSpace((1,) * d + (min(_up(block[d]), register),)) for d in (1, 2) if row > 1 and block[d] > 1
    ]
    return list(dict.fromkeys([*boxes, *columns]))


def _rows_of(wide: int, block: Block, register: int, most: int) -> list[LaneSpace]:
    """One row of so many threads, and as many as share registers."""
    several = min(_up(block[1]), ROWS * register // wide, most // wide)
    return [LaneSpace((wide, n) if n > 1 else (wide,)) for n in (1, several)]


def _up(number: int) -> int:
    """The least power of two that is not below."""
    return 1 << (number - 1).bit_length()


def box_of(block: Block, size: int) -> LaneSpace:
    """As many threads of a work-group as `size`, a power of two, of as few dimensions as can be."""
    extents: list[int] = []
    for n in block:
        extents.append(min(_up(n), size // prod(extents)))
    while len(extents) > 1 and extents[-1] == 1:
        extents.pop()
    return LaneSpace(tuple(extents))


def _count(lanes: LaneSpace, block: Block) -> int:
    """How many lane groups the work-group has."""
    return prod(-(-n // m) for n, m in zip(block, lanes.by_axis(3), strict=True))


def barrier_weights(facts: FunctionFacts, loop_weight: float) -> float:
    """How many barriers a thread passes."""
    number, loops = facts.view.index, facts.propagation.loops
    depths = [loops.depth(number[b.block]) for b in barriers_of(facts.function) if b.block is not None]
    return sum(loop_weight**depth for depth in depths)
