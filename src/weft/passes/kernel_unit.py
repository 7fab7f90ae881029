"""A kernel on its way through the passes."""

from __future__ import annotations

from msgspec import Struct, field

from weft.analysis.divergence import Divergence, FunctionFacts
from weft.analysis.memory.updated_arrays import UpdatedArrays
from weft.codegen.arena import ArenaNeeds
from weft.codegen.lanes.vectorization import VectorizationSummary
from weft.codegen.order.dimension import analyze_along
from weft.codegen.order.walks import Walk
from weft.codegen.order.width import OpenChoice, WidthChoice
from weft.codegen.simd_functions.functions import FunctionVectorizer
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.work_groups.group_program import GroupProgram
from weft.codegen.work_groups.lane_groups import ThreadKernel
from weft.diag.remarks import RemarkLog
from weft.diag.source import SourceSpan
from weft.ir import BasicBlock, Function, Module
from weft.ir.array_sizes import sized_parameters
from weft.ir.intrinsics import asks_for_lanes
from weft.options import CompileOptions, Timings
from weft.passes.lane_plan import Analyses, LaneOrder, LanePlan, Planner, Premises
from weft.passes.runner import Runner
from weft.passes.stages import Form, Rows, Runnable, Stage
from weft.runtime.launch_terms import LaunchTerms
from weft.target.machine import TargetSpec
from weft.target.vector_math import MathSymbol, math_finder
from weft.transform.boscc.insertion import Boscc, BosccMode
from weft.transform.groups.grid_walks import GridWalk


class Bands(Struct, frozen=True):
    """In which boxes the threads of a kernel run, in bands of rows (`weft.codegen.order.bands`).

    Parameters
    ----------
    lanes
        The box, of two dimensions: that of the rows, and another one.
    reason
        Why.
    """

    lanes: LaneSpace
    reason: str

    @property
    def across(self) -> int:
        """The dimension along which the rows of a band follow each other."""
        return self.lanes.axes[1]


class KernelUnit(Struct):
    """What the passes of the list for kernels work on.

    Parameters
    ----------
    module, name
        The program, and which of its functions is the kernel.
    options, spec
        What it is compiled for.
    runner
        Runs the passes.
    remarks
        What was decided.
    math
        Vector math functions the code calls, by symbol.
    timings
        Seconds in each part of the compilation.

    Attributes
    ----------
    premises
        What is known of launches.
    most_lanes
        For how many lanes there is room on the stack.
    together
        Whether all threads of a work-group arrive at each barrier together.
    trees
        Headers of loops that are trees in shared memory, of which there is code without barriers.
    guessed
        Where loops are that have 32 bits while their numbers fit.
    narrowed, small
        How many numbers that differ from thread to thread have 32 bits instead of 64, and how many 8 or 16.
    order, plan
        Which threads run in the lanes; None until that is planned.
    walk
        What the loop was that the kernel is an iteration of, if it is that of a walk of the grid.
    rows
        How lane groups are cut out of rows, where they are.
    bounds
        The function that says which threads of a row pass the guards that lane groups of consecutive numbers do not
        ask any more; "" for none.
    bands, of_bands
        The box of threads that most of them run in, in bands of rows, where they do; and the function for that.
    divided, of_divided
        The same of threads whose numbers are divided into columns and rows (`weft.codegen.order.divided_rows`); and the
        functions for that: of a box, of one thread, and the one that says how many columns and rows there are.
    flushing
        Whether the processor is to flush numbers that are subnormal.
    narrow
        Its divergence once numbers are narrowed, if that was looked at before.
    walking
        How its threads walk by stacks, None if they do not, once that was looked at.
    stretch
        How many lanes have one quotient of their positions, None where that is not wanted, once that was looked at.
    open_choice
        That there is to be code in lanes and code for threads one by one.
    alone, alone_rows
        The function for threads one by one then, "" for none, and how it is cut out of rows.
    alone_program
        What the function has become, where it runs in lanes that each walk by a stack of their own.
    alone_counts
        Whether LLVM's vectorizers may find work there.
    told_apart
        Whether code for threads one by one rests on arrays that are apart.
    updated
        Arrays that threads only update.
    box_width
        As `weft.passes.lane_plan.width_below_which_boxes_serve` says.
    box
        Rows and columns of the box in which work-groups run that have as much, if they do.
    strips
        Whether the groups of the grid run in strips, not in rows.
    runnables, changed
        The functions that stand for the kernel, for whole and for partial lane groups, and which of them the latest
        pass worked on.
    program
        What the kernel has become.
    summary
        What vectorization did; None where it was not.
    called
        What it did to functions that the kernel calls.
    row_numbers
        The parameters that short rows may have their lengths from, and up to which ones.
    entry, arena
        The function that the runtime launches, and the scratch memory that it needs.
    """

    module: Module
    name: str
    options: CompileOptions
    spec: TargetSpec
    runner: Runner
    remarks: RemarkLog = field(default_factory=RemarkLog)
    math: dict[str, MathSymbol] = field(default_factory=dict)
    timings: Timings = field(default_factory=Timings)
    premises: Premises = field(default_factory=lambda: Premises(None, None))
    most_lanes: int = 1
    together: bool = False
    trees: list[BasicBlock] = field(default_factory=list)
    guessed: list[SourceSpan | None] = field(default_factory=list)
    narrowed: int = 0
    small: int = 0
    order: LaneOrder = field(default_factory=LaneOrder)
    plan: LanePlan | None = None
    walk: GridWalk | None = None
    rows: Rows | None = None
    bounds: str = ""
    bands: Bands | None = None
    of_bands: str = ""
    divided: Bands | None = None
    of_divided: tuple[str, str, str] | None = None
    flushing: bool = False
    narrow: Divergence | None = None
    walking: tuple[Walk | None] | None = None
    stretch: tuple[WidthChoice | None] | None = None
    open_choice: OpenChoice | None = None
    alone: str = ""
    alone_rows: Rows | None = None
    alone_program: GroupProgram | None = None
    alone_counts: bool = False
    told_apart: bool = False
    updated: UpdatedArrays = field(default_factory=UpdatedArrays)
    box_width: int = 0
    box: tuple[int, int] | None = None
    strips: bool = False
    runnables: list[Runnable] = field(default_factory=list)
    changed: int = 0
    program: GroupProgram | None = None
    summary: VectorizationSummary | None = None
    called: list[VectorizationSummary] = field(default_factory=list)
    row_numbers: tuple[tuple[int, int], ...] = ()
    entry: str = ""
    arena: ArenaNeeds = field(default_factory=lambda: ArenaNeeds(0))
    _kernel: Function | None = None
    _facts: FunctionFacts | None = None
    _analyses: dict[tuple[int, int], Divergence] = field(default_factory=dict)

    @property
    def function(self) -> Function:
        """The kernel, the last one that there was of its name."""
        found = self.module.functions.get(self.name)
        if found is not None:
            self._kernel = found
        assert self._kernel is not None
        return self._kernel

    @property
    def known(self) -> tuple[tuple[int, int | float], ...]:
        """Parameters by number, and their values."""
        return self.options.known

    @property
    def plain_loops(self) -> bool:
        """Whether loops of which nothing is said may run in parallel: those of a thread are in order."""
        return False

    @property
    def planner(self) -> Planner:
        """Chooses the lane groups of the kernel as it is."""
        return self.planner_of(self.function, self.facts, self.along)

    def planner_of(self, kernel: Function, facts: FunctionFacts, along: Analyses) -> Planner:
        """Chooses the lane groups as for this version of the kernel, of which this holds."""
        return Planner(
            kernel, facts, along, self.options, self.premises, self.spec.isa, self.most_lanes,
            self.together, self.walk is not None, self.open_choice is not None,
        )  # fmt: skip

    @property
    def done(self) -> GroupProgram:
        """What the kernel has become, which may be nothing else than it was."""
        return self.program or ThreadKernel(self.function)

    @property
    def terms(self) -> LaunchTerms:
        """For which launches the code is."""
        warp, done = self.premises.warp, self.done
        # Of code that was asked for at a width there are no narrower specializations.
        asked_for = self.options.width is not None or self.options.brush is not None
        width = done.barrier_width if warp is None and not asked_for else 0
        apart = self.summary is not None and self.summary.replacement.arrays_apart
        apart = apart or self.updated.arrays_apart or self.told_apart
        rows, columns = self.box or (0, 0)
        wanted = {array.number for array in self.updated.arrays if array.extent.shape}
        sized = tuple(k if k in wanted else -1 for k in sized_parameters(self.function.args))
        return LaunchTerms(width, done.row_multiple, self.box_width, warp or 1, apart, rows, columns, sized)

    @property
    def has_own_stacks(self) -> bool:
        """Whether the code beside that in which threads walk together is for lanes that each walk by themselves."""
        return bool(self.alone) and self.open_choice is not None and self.open_choice.own_stacks > 1

    @property
    def facts(self) -> FunctionFacts:
        """What holds of the kernel as it is for any threads."""
        if self._facts is None:
            self._facts = FunctionFacts(self.function)
        return self._facts

    def along(self, dimension: int, width: int) -> Divergence:
        """The kernel's divergence in lane groups of `width` threads along a dimension, 0 for x."""
        known = self._analyses.get((dimension, width))
        if known is None:
            known = self._analyses[dimension, width] = analyze_along(self.facts, dimension, width)
        return known

    def known_along(self, dimension: int, width: int) -> Divergence | None:
        """The same, if it has been found."""
        return self._analyses.get((dimension, width))

    def forget(self) -> None:
        """Note that the kernel is not what it was."""
        self._facts = None
        self._analyses.clear()

    def vectorizer(self, lanes: LaneSpace) -> FunctionVectorizer:
        """Makes the SIMD functions of called functions for these lanes."""
        isa = self.spec.isa
        boscc = Boscc(BosccMode(self.options.boscc), isa)
        return FunctionVectorizer(
            self.module,
            lanes,
            math_finder(self.math, self.spec),
            isa,
            boscc,
            self.runner.watched_by(),
            self.options.switches,
        )

    def stage(self, name: str, text: str) -> Stage | None:
        """How the program is run as it is now."""
        if self.program is not None and self.runnables[0].form is not Form.ENTRY:
            # Rows, boxes and continuations run in the loops that are to be built around them.
            return None
        if self.walk is not None and self.rows is None:
            # Threads are iterations by now, and nothing says yet of which rows.
            return None
        full, partial = self.runnables[0], self.runnables[1] if len(self.runnables) > 1 else None
        changed = self.runnables[self.changed].function
        linear = self.order.linear if self.plan is not None else self.premises.linear
        if self.plan is None or full.form is Form.ENTRY:
            width = self._width_asked_for(full.form)
            box = self.premises.box if width else None
            return Stage(name, text, full, changed, None, width, linear, None, box)
        if self.changed:
            name += " (partial lane groups)"
        if partial is None and linear:
            # Lane groups of consecutive numbers are along rows in some work-groups only.
            return None
        return Stage(
            name,
            text,
            full,
            changed,
            partial,
            self.plan.width,
            linear,
            self.rows,
            self.order.box,
            self.order.axes,
            self.bounds or None,
        )

    def _width_asked_for(self, form: Form) -> int:
        """Threads of a lane group where the program asks for its lanes; 0 where they do not matter."""
        if form is Form.GRID:
            # The premises are settled behind this form.
            return (self.options.warp or 0) if asks_for_lanes(self.module) else 0
        return (self.premises.warp or 0) if form is Form.THREADS else 0
