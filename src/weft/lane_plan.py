"""Which threads of a work-group run in the lanes: how many, along what, cut out of which rows or boxes.

=============================  =================================================================================
kernel                         lane groups
=============================  =================================================================================
with warp operations           a warp: threads of consecutive linear numbers, or a box of threads where these are one
for work-groups of one shape   a box of threads of several rows (`weft.codegen.boxes`)
with barriers                  neighbours along x; narrower ones for smaller work-groups, launched as a version
without                        neighbours along the dimension that memory wants, of rows that groups may be merged to
=============================  =================================================================================
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from weft.analysis.divergence import Divergence
from weft.codegen.boxes import Block, box_of, choose_box, covers, prefers_boxes, warp_box
from weft.codegen.dimension import analyze_along, choose_dimension
from weft.codegen.remarks import remark_rows
from weft.codegen.vectorize import why_not_vectorized
from weft.codegen.warps import require_warps
from weft.codegen.width import WidthChoice, choose_width, choose_width_of_rounds, one_register
from weft.diag.remarks import RemarkKind, RemarkLog
from weft.ir import Function, Module
from weft.machine.targets import Isa
from weft.options import CompileOptions
from weft.runtime.shape import MAX_BLOCK
from weft.stages import Form, Rows, StageLog, Version
from weft.transform.barriers import barriers_of, cut_behind
from weft.transform.guard_splitting import split_guards
from weft.transform.lock_step import run_in_lock_step
from weft.transform.merge_groups import find_merge, merge_groups
from weft.transform.narrowing import narrow_varying


@dataclass(frozen=True, slots=True)
class LaunchTerms:
    """What is known of the launches that the code is for.

    Parameters
    ----------
    block
        The shape of their work-groups; None where any.
    warp
        Threads of a warp; None for kernels without warp operations.
    box
        The threads of a warp along x, y and z, where they are a box.
    """

    block: Block | None
    warp: int | None
    box: tuple[int, ...] | None = None

    @classmethod
    def of(cls, options: CompileOptions, asks_for_lanes: bool) -> LaunchTerms:
        """The terms of a kernel, which perhaps asks which lane a thread is in."""
        if not asks_for_lanes:
            return cls(options.block, None)
        box = None
        if options.block is not None and options.warp is not None:
            box = warp_box(options.block, options.warp)
        if box is None:
            return cls(None, options.warp)
        return cls(options.block, options.warp, box.extents)


@dataclass(frozen=True, slots=True)
class LanePlan:
    """How the threads of a kernel run together.

    Parameters
    ----------
    choice
        How many threads a lane group has, and why.
    found
        The divergence of a kernel with barriers, at a width as good as any.
    box_width
        For work-groups of several rows with fewer threads than this there are versions that run boxes of threads.
    """

    choice: WidthChoice
    found: Divergence | None = None
    box_width: int = 0


@dataclass(frozen=True, slots=True)
class LanePlanner:
    """Chooses the lane groups of a kernel, and cuts its rows accordingly.

    Parameters
    ----------
    options, terms, isa
        What it is compiled for.
    most_lanes
        For how many lanes there is room on the stack.
    together
        Whether all threads of a work-group arrive at each barrier together.
    stages
        Is told of which threads the lane groups are.
    """

    module: Module
    kernel: Function
    options: CompileOptions
    terms: LaunchTerms
    isa: Isa
    most_lanes: int
    together: bool
    remarks: RemarkLog
    stages: StageLog

    def plan(self) -> LanePlan:
        """Return the plan; the kernel is as it wants it from then on."""
        choice, found = self._choose()
        wanted = self.options.width is not None or self.options.block is not None
        box_width = 0 if choice.width == 1 or wanted else self._box_width(choice.width)
        return LanePlan(choice, found, box_width)

    def _choose(self) -> tuple[WidthChoice, Divergence | None]:
        wanted, terms, found = self.options.width, self.terms, None
        if terms.warp is not None:
            require_warps(self.module, self.kernel, terms.warp, wanted, self.most_lanes, self.remarks)
            if terms.box is not None:
                self.stages.box, self.stages.linear = terms.box, False
            return WidthChoice(terms.warp, "as many as a warp"), None
        if not self._can_widen():
            return WidthChoice(1, ""), None
        if terms.block is not None:
            return self._plan_box(terms.block), None
        if barriers_of(self.kernel):
            choice, found = self._plan_rounds()
        else:
            choice = self._plan_rows()
        if choice.width > self.most_lanes:
            choice = WidthChoice(self.most_lanes, "whose local arrays there is room for")
        return choice, found

    def _can_widen(self) -> bool:
        """Whether the threads of the kernel run together, as far as user and kernel allow."""
        if self.options.width == 1 or self.most_lanes == 1:
            return False
        obstacle = why_not_vectorized(self.kernel)
        if obstacle is not None:
            message = f"{self.kernel.name} runs thread after thread because {obstacle}"
            self.remarks.add(RemarkKind.LANE_BY_LANE, message, pass_name="widening")
        return obstacle is None

    def _box_width(self, width: int) -> int:
        """Up to rows of how many threads boxes of threads may be better as lane groups; 0 for merged work-groups."""
        if self.terms.warp is not None:
            return self.terms.warp
        rows = self.stages.rows
        if rows is not None and rows.merge is not None:
            return 0
        return MAX_BLOCK[0] + 1 if prefers_boxes(self.kernel, self.isa) else width

    def _plan_rows(self) -> WidthChoice:
        """Choose along which dimension and how wide lane groups are, and cut the kernel's rows."""
        kernel, wanted = self.kernel, self.options.width
        base = one_register(self.isa)
        choice = WidthChoice(base, "a register of 32-bit values")
        if not self.stages.linear:
            along = functools.cache(functools.partial(analyze_along, kernel, width=base))
            dimension = choose_dimension(kernel, along, base, self.isa)
            if narrow_varying(kernel, along(dimension)):
                self._note_narrowing()
                along.cache_clear()
            # Rows that end with the work-group are not long.
            if wanted is None and find_merge(kernel, "xyz"[dimension]) is not None:
                choice = choose_width(along(dimension), self.isa)
            self.stages.rows = self._cut_rows(dimension)
        return choice if wanted is None else WidthChoice(wanted, "as asked for")

    def _cut_rows(self, dimension: int) -> Rows:
        """Let the kernel run on rows of threads as long as can be, of which guards that it has leave a part."""
        merge = merge_groups(self.kernel, "xyz"[dimension])
        guards = split_guards(self.module, self.kernel, "xyz"[dimension])
        remark_rows(self.remarks, self.kernel.name, "xyz"[dimension], merge, guards)
        return Rows(dimension, merge, guards.bounds.name if guards else None)

    def _plan_rounds(self) -> tuple[WidthChoice, Divergence]:
        """Choose how wide lane groups of a kernel with barriers are; with its divergence, at a width as good as any."""
        kernel, wanted = self.kernel, self.options.width
        cut_behind(barriers_of(kernel))
        found = analyze_along(kernel, 0, wanted or one_register(self.isa))
        if narrow_varying(kernel, found):
            self._note_narrowing()
            found = analyze_along(kernel, 0, wanted or one_register(self.isa))
        if wanted is not None:
            return WidthChoice(wanted, "as asked for"), found
        if any(a.is_used for a in kernel.args if a.name in ("tid.y", "tid.z")):
            # Their rows are short, and boxes of threads an answer.
            return WidthChoice(one_register(self.isa), "a register of 32-bit values"), found
        return choose_width_of_rounds(found, self.isa), found

    def _plan_box(self, block: Block) -> WidthChoice:
        """Choose which threads of a work-group form a lane group; if they all do, no barrier is left."""
        wanted = self.options.width
        if wanted is None:
            lanes = choose_box(self.kernel, block, self.isa, self.most_lanes, self.together)
        else:
            lanes = box_of(block, min(wanted, self.most_lanes))
        self.stages.box = lanes.extents
        if self.together and lanes.width > 1 and covers(lanes, block):
            run_in_lock_step(self.module, self.kernel)
        sides = " by ".join(map(str, lanes.extents))
        return WidthChoice(lanes.width, f"{sides} of a work-group of {' by '.join(map(str, block))}")

    def _note_narrowing(self) -> None:
        self.stages.add("narrowing", self.module, Version(self.kernel.name, Form.THREADS))
