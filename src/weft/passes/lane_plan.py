"""Which threads of a work-group run in the lanes: how many, along what, cut out of which rows or boxes.

=============================  =================================================================================
kernel                         lane groups
=============================  =================================================================================
with warp operations           a warp: threads of consecutive linear numbers, or a box of threads where these are one
for work-groups of one shape   a box of threads of several rows (`weft.codegen.order.boxes`)
with barriers                  neighbours along x; narrower ones for smaller work-groups, launched as a specialization
without                        neighbours along the dimension that memory wants, of rows that groups may be merged to
=============================  =================================================================================

Planning only looks: an order first, and a width once numbers are narrowed along it. The passes of
`weft.passes.kernels` carry it out.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from msgspec import Struct

from weft.analysis.divergence import Divergence, FunctionFacts
from weft.codegen.lanes.obstacles import why_not_vectorized
from weft.codegen.order.boxes import (
    Block,
    barrier_weights,
    box_of,
    brush_box,
    choose_box,
    covers,
    prefers_boxes,
    warp_box,
)
from weft.codegen.order.dimension import choose_dimension
from weft.codegen.order.width import (
    MAX_WIDTH,
    WidthChoice,
    choose_width,
    choose_width_of_rounds,
    may_be_open,
    one_register,
)
from weft.codegen.parallel.inner_loops import prefers_inner_loops
from weft.codegen.trials import may_try
from weft.codegen.widen.lanes import LaneSpace
from weft.costs.constants import constants_of
from weft.ir import Function
from weft.machine.targets import Isa
from weft.options import CompileOptions
from weft.runtime.shape import MAX_BLOCK
from weft.transform.groups.merge_groups import find_merge
from weft.transform.groups.work_items import WorkItems
from weft.transform.splitting.barriers import barriers_of, has_grid_barrier

Analyses = Callable[[int, int], Divergence]
"""The divergence of a kernel in lane groups of so many threads (second) along a dimension (first, 0 for x)."""


class Premises(Struct, frozen=True):
    """What is known of the launches that the code is for.

    Parameters
    ----------
    block
        The shape of their work-groups; None where any.
    warp
        Threads of a warp; None for kernels without warp operations.
    box
        The threads of a warp along x, y and z, where they are a box.
    linear
        Whether lane groups are of consecutive linear numbers, as the program asks which lane a thread is in.
    """

    block: Block | None
    warp: int | None
    box: tuple[int, ...] | None = None
    linear: bool = False

    @classmethod
    def of(cls, options: CompileOptions, asks_for_lanes: bool) -> Premises:
        """The premises of a kernel, which perhaps asks which lane a thread is in."""
        if not asks_for_lanes:
            return cls(options.block, None)
        box = None
        if options.block is not None and options.warp is not None:
            box = warp_box(options.block, options.warp)
        if box is None:
            return cls(None, options.warp, linear=True)
        return cls(options.block, options.warp, box.extents)


class LaneOrder(Struct, frozen=True):
    """Of which threads lane groups are.

    Parameters
    ----------
    dimension
        Along which they are neighbours, 0 for x.
    linear
        Whether they are of consecutive linear numbers instead.
    box
        Of how many threads along x, y and z they are, where they are boxes.
    axes
        What the numbers of the box are along, where it is not x, y and z in this order.
    lock_step
        Whether each work-group is one lane group, which needs no barrier.
    in_lanes
        Whether there are lane groups at all; otherwise threads run one after the other.
    obstacle
        What stands in the way, if it is not the user's wish.
    """

    dimension: int = 0
    linear: bool = False
    box: tuple[int, ...] | None = None
    axes: tuple[int, ...] = ()
    lock_step: bool = False
    in_lanes: bool = True
    obstacle: str | None = None


SHORT_ROW = 16
"""Threads of a row in most work-groups of two dimensions."""


class LanePlan(Struct, frozen=True):
    """How the threads of a kernel run together.

    Parameters
    ----------
    order
        Of which threads lane groups are.
    choice
        How many threads they have, and why.
    in_rows
        Whether they are cut out of rows of threads, with guards as bounds.
    """

    order: LaneOrder
    choice: WidthChoice
    in_rows: bool = False

    @property
    def width(self) -> int:
        """Threads of a lane group."""
        return self.choice.width

    @property
    def lanes(self) -> LaneSpace:
        """The lane group."""
        return LaneSpace(self.order.box or (self.width,), self.order.axes)


class Planner(Struct, frozen=True):
    """Chooses the lane groups of a kernel with work-item parameters.

    Parameters
    ----------
    kernel
        The kernel, canonical, with its work-item parameters.
    facts
        What holds of it for any threads.
    analyses
        Its divergence.
    options, premises, isa
        What it is compiled for.
    most_lanes
        For how many lanes there is room on the stack.
    together
        Whether all threads of a work-group arrive at each barrier together.
    walks
        Whether the kernel is an iteration of a walk of the grid, so that it needs rows at any width.
    both_ways
        Whether there are lanes, as threads by themselves have code of their own.
    """

    kernel: Function
    facts: FunctionFacts
    analyses: Analyses
    options: CompileOptions
    premises: Premises
    isa: Isa
    most_lanes: int
    together: bool
    walks: bool = False
    both_ways: bool = False

    @property
    def _may_be_in_step(self) -> bool:
        """Whether a work-group that is one lane group needs no barrier."""
        return self.together and not has_grid_barrier(self.kernel)

    def order(self) -> LaneOrder:
        """Choose of which threads lane groups are."""
        premises, wanted = self.premises, self.options.width
        if premises.warp is not None:
            return LaneOrder(linear=premises.linear, box=premises.box)
        if wanted == 1 or self.most_lanes == 1:
            return LaneOrder(in_lanes=False)
        obstacle = why_not_vectorized(self.kernel)
        if obstacle is not None:
            return LaneOrder(in_lanes=False, obstacle=obstacle)
        if self.options.brush is not None:
            box = brush_box(self.options.brush)
            lock_step = premises.block is not None and self._may_be_in_step and covers(box, premises.block)
            return LaneOrder(box=box.extents, axes=box.axes, lock_step=lock_step)
        if premises.block is not None:
            return self._order_in_boxes(premises.block)
        has_barriers = bool(barriers_of(self.kernel))
        if (
            has_barriers
            and self._may_be_in_step
            and self.options.lock_step
            and (wanted or 0) <= self.most_lanes
        ):
            return LaneOrder(linear=True, lock_step=True)
        if has_barriers or premises.linear:
            return LaneOrder(linear=premises.linear)
        base = one_register(self.isa)
        dimension = choose_dimension(self.kernel, lambda d: self.analyses(d, base), base, self.isa)
        return LaneOrder(dimension)

    def plan(
        self,
        order: LaneOrder,
        walk: Callable[[], WidthChoice | None] = lambda: None,
        stretch: Callable[[], WidthChoice | None] = lambda: None,
        at_edges: Callable[[], bool] = lambda: False,
    ) -> LanePlan:
        """Choose how many threads lane groups of this order have.

        `walk` says it for those that walk by stacks, `stretch` for those of which all have one quotient, and `at_edges`
        whether those at edges run other code.
        """
        if self.premises.warp is not None:
            unused = " (the brush is not used: threads ask what others of their warp do)"
            reason = "as many as a warp" + (unused if self.options.brush is not None else "")
            return LanePlan(order, WidthChoice(self.premises.warp, reason))
        if not order.in_lanes:
            return LanePlan(order, WidthChoice(1, ""))
        if order.box is not None:
            return LanePlan(order, self._width_of_box(order.box))
        in_rounds = bool(barriers_of(self.kernel)) and not order.lock_step
        choice = self._width_of_rounds() if in_rounds else self._width_of_rows(order, walk, stretch, at_edges)
        if choice.width > self.most_lanes:
            choice = WidthChoice(self.most_lanes, "whose local arrays there is room for")
        in_rows = not in_rounds and not order.linear
        if choice.width == 1 and not self.walks:
            # Where rows are all there is of a work-group, its threads stay in order.
            in_rows &= order.dimension == 0 and _uses_x_alone(self.kernel)
        return LanePlan(order, choice, in_rows)

    def may_be_open(self, order: LaneOrder, *, walks: bool = False) -> bool:
        """Whether code for lane groups of this order or for threads one by one may be better, as far as is known.

        It may be where threads walk by stacks, `walks`, else where they look places up.
        """
        if self.options.width is not None or not self.may_have_both():
            return False
        if not self.has_long_rows(order):
            return False
        if walks:
            return True
        divergence = self.analyses(order.dimension, one_register(self.isa))
        return may_be_open(divergence) and not prefers_inner_loops(self.kernel, divergence, reordered=True)

    def has_long_rows(self, order: LaneOrder) -> bool:
        """Whether rows go on beyond work-groups: those of a walk do, whose groups are merged already."""
        return self.walks or find_merge(self.kernel, order.dimension) is not None

    def may_have_both(self) -> bool:
        """Whether there may be code for lane groups in rows and for threads one by one."""
        if self.options.switches.count_lanes or self.most_lanes < MAX_WIDTH:
            return False
        return not barriers_of(self.kernel) and may_try(self.kernel.instructions(), self.isa)

    def analyzed_width(self) -> int:
        """Threads of the lane groups that are looked at before there is a width."""
        base = one_register(self.isa)
        return self.options.width or base if barriers_of(self.kernel) else base

    def _order_in_boxes(self, block: Block) -> LaneOrder:
        """Choose which box of a work-group forms a lane group; if it is all of it, no barrier is left."""
        wanted = self.options.width
        if wanted is None:
            lanes = choose_box(self.facts, block, self.isa, self.most_lanes, self.together)
        else:
            lanes = box_of(block, min(wanted, self.most_lanes))
        lock_step = self._may_be_in_step and lanes.width > 1 and covers(lanes, block)
        return LaneOrder(box=lanes.extents, lock_step=lock_step)

    def _width_of_box(self, box: tuple[int, ...]) -> WidthChoice:
        width, block = prod(box), self.premises.block or ()
        if self.options.brush is not None:
            why = "in which rows share what a loop loads" if self.options.brush_chosen else "as asked for"
            return WidthChoice(width, f"as a box of {self.options.brush}, {why}")
        sides = " by ".join(map(str, box))
        return WidthChoice(width, f"{sides} of a work-group of {' by '.join(map(str, block))}")

    def _width_of_rows(
        self,
        order: LaneOrder,
        walk: Callable[[], WidthChoice | None],
        stretch: Callable[[], WidthChoice | None],
        at_edges: Callable[[], bool],
    ) -> WidthChoice:
        wanted, base = self.options.width, one_register(self.isa)
        if wanted is not None:
            return WidthChoice(wanted, "as asked for")
        if not order.linear and self.has_long_rows(order):
            divergence, walking = self.analyses(order.dimension, base), walk()
            if walking is not None:
                return walking
            if prefers_inner_loops(self.kernel, divergence, reordered=True):
                return WidthChoice(1, "as its inner loops run along rows, and are vectorized instead")
            if (quotients := stretch()) is not None:
                return quotients
            return choose_width(divergence, self.isa, both_ways=self.both_ways, at_edges=at_edges())
        return WidthChoice(base, "a register of 32-bit values")

    def _width_of_rounds(self) -> WidthChoice:
        if self.options.width is not None:
            return WidthChoice(self.options.width, "as asked for")
        base = one_register(self.isa)
        if any(a.is_used for a in WorkItems.of(self.kernel).tid[1:]) and 2 * base > SHORT_ROW:
            # Their rows are short, and boxes of threads an answer.
            return WidthChoice(base, "a register of 32-bit values")
        rounds = 1 + barrier_weights(self.facts, constants_of(self.isa).loop_weight)
        return choose_width_of_rounds(self.analyses(0, base), self.isa, rounds)


def _uses_x_alone(kernel: Function) -> bool:
    """Whether threads do the same wherever they are along y and z."""
    ids = WorkItems.of(kernel)
    return not any(a.is_used for a in (*ids.tid[1:], *ids.gid[1:]))


def width_below_which_boxes_serve(
    facts: Callable[[], FunctionFacts],
    plan: LanePlan,
    premises: Premises,
    options: CompileOptions,
    merged: bool,
    isa: Isa,
) -> int:
    """Up to rows of how many threads boxes of threads may be better as lane groups; 0 for none.

    `facts` are those of the kernel, if they are asked for. `merged` tells that work-groups are merged to long rows.
    """
    asked_for = options.width is not None or options.brush is not None
    if plan.width == 1 or asked_for or options.block is not None:
        return 0
    if premises.warp is not None:
        return premises.warp
    if merged:
        return 0
    return MAX_BLOCK[0] + 1 if prefers_boxes(facts(), isa) else plan.width
