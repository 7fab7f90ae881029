"""A function with parallel loops on its way through the passes."""

from __future__ import annotations

from msgspec import Struct, field

from weft.analysis.loops.reductions import Combination
from weft.analysis.sequential.scope import ArrayParameters
from weft.brush import BrushOption
from weft.codegen.lanes.vectorization import VectorizationSummary
from weft.codegen.parallel.brush_choice import Weighed
from weft.codegen.parallel.parallel_loops import StripMinedLoop
from weft.diag.remarks import RemarkLog
from weft.diag.source import SourceSpan
from weft.ir import BasicBlock, Function, Module
from weft.machine.targets import Isa
from weft.options import Timings
from weft.passes.runner import Runner
from weft.passes.stages import Form, Runnable, Stage
from weft.switches import ALL_ON, Switches
from weft.target.machine import TargetSpec
from weft.target.passes import WHOLE, WHOLE_IN_ORDER, Pipeline
from weft.target.vector_math import MathSymbol
from weft.transform.boscc.insertion import Boscc
from weft.transform.loops.searches_together import has_narrow_searches

ROUNDED = frozenset({Combination.FADD, Combination.FMUL})
"""What depends on the order in which it is done."""


class FoundLoop(Struct):
    """A loop that is strip-mined, and what remarks are to say of it.

    Parameters
    ----------
    mined
        The loop.
    span
        Where it is.
    subject
        What it is called: ``this loop``.
    behind
        What remarks add, such as "on all cores".
    in_step
        Whether its iterations depend on each other, in a way that lock step keeps.
    totals
        The same iterations once more, computing what they hand on alone.
    own_stacks
        The loop once more, whose lanes each walk by a stack of their own.
    """

    mined: StripMinedLoop
    span: SourceSpan | None
    subject: str
    behind: str = ""
    in_step: bool = False
    totals: StripMinedLoop | None = None
    own_stacks: StripMinedLoop | None = None


class LoopUnit(Struct):
    """What the passes of the lists for parallel loops work on.

    Parameters
    ----------
    module, name
        The program, and the function that is called.
    spec, isa
        What it is compiled for.
    width
        Lanes of loops that do not ask for others; None lets the cost model choose.
    boscc
        Where uniform branches go around what divergent ones guard.
    runner
        Runs the passes.
    switches
        What is made use of.
    brush
        The lanes of nests; None for those of one loop.
    remarks
        What was decided.
    math
        Vector math functions the code calls, by symbol.
    timings
        Seconds in each part of the compilation.
    loops
        The loops that have been strip-mined.
    called
        What became of functions that their bodies call, by name.
    weighed
        The brushes that were weighed for the first nest, the best first.
    weighed_before
        The brushes of nests that are copies of one that was weighed, by their headers.
    row
        In how many lanes the innermost loop of the nest that was looked at last should run; None for any number.
    form
        How the program is run.
    exact_math
        Whether lanes compute what one iteration after the other does to the last bit: no vector math functions.
    oblivious
        The lane functions that mean the same when passive lanes get ⊤.
    arrays
        Which parameters of the function are arrays with extents.
    all_cores
        Whether loops run on the thread pool.
    in_order
        Whether loops wait for sums of several rows, or for divisions, each in order.
    """

    module: Module
    name: str
    spec: TargetSpec
    isa: Isa
    width: int | None
    boscc: Boscc
    runner: Runner
    switches: Switches = ALL_ON
    brush: BrushOption = None
    remarks: RemarkLog = field(default_factory=RemarkLog)
    math: dict[str, MathSymbol] = field(default_factory=dict)
    timings: Timings = field(default_factory=Timings)
    loops: list[FoundLoop] = field(default_factory=list)
    called: dict[str, VectorizationSummary] = field(default_factory=dict)
    weighed: list[Weighed] = field(default_factory=list)
    weighed_before: dict[BasicBlock, list[Weighed]] = field(default_factory=dict)
    row: int | None = None
    form: Form = Form.CALL
    exact_math: bool = False
    oblivious: set[str] = field(default_factory=set)
    arrays: tuple[ArrayParameters, ...] = ()
    all_cores: bool = False
    in_order: bool = False

    @property
    def plain_loops(self) -> bool:
        """Whether loops of which nothing is promised run in parallel, too, where that is found to be safe."""
        return False

    @property
    def pipeline(self) -> Pipeline:
        """What LLVM is to do with the module."""
        return WHOLE_IN_ORDER if self.in_order or has_narrow_searches(self.module, self.isa) else WHOLE

    @property
    def function(self) -> Function:
        """The function that is called."""
        return self.module.functions[self.name]

    def stage(self, name: str, text: str) -> Stage | None:
        """How the program is run as it is now."""
        return Stage(
            name, text, Runnable(self.name, self.form), self.name,
            oblivious=frozenset(self.oblivious), reorders=self.has_reordered, has_lanes=bool(self.loops),
        )  # fmt: skip

    @property
    def has_reordered(self) -> bool:
        """Whether a loop forms sums or products of floats in another order than the source."""
        return any(
            r.combination in ROUNDED for found in self.loops for r in found.mined.outlined.parallel.reductions
        )
