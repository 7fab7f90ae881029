"""The region vectorizer: a function for one thread becomes one for W threads in SIMD lanes (Moll, ch. 3).

The chain: divergence analysis; divergent loops made uniform; partial linearization with masks; analysis again, of
what is now control-uniform; widening. Each link is P-LLVM that the interpreter runs.

Precondition: canonical P-LLVM (loop-simplified, loop-closed, one return, no barrier) whose parameters have the
given shapes. The source function is used up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from weft.analysis.divergence import Divergence, analyze_divergence
from weft.analysis.shapes import Shape, domain_named
from weft.codegen.entry_guard import append_parameter, skip_body
from weft.codegen.statistics import MemoryStatistics, memory_statistics
from weft.codegen.widen import widen_function
from weft.codegen.widen.calls import FindMath
from weft.codegen.widen.compare_exchange import is_old_value
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.widen.simd_calls import FindSimd
from weft.codegen.widen.widener import WideningNotes
from weft.graph.loops import loop_forest
from weft.ir import ConstInt, Function, Module, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import cfg_of
from weft.ir.intrinsics import declare
from weft.ir.types import I32, I64
from weft.ir.values import Argument
from weft.machine.targets import Isa
from weft.transform.boscc import Boscc, Gadget, insert_wanted
from weft.transform.components import take_apart
from weft.transform.divergent_loops import make_loops_uniform, uniform_branches
from weft.transform.drop_unreachable import drop_unreachable_edges
from weft.transform.lane_subset import lane_bit
from weft.transform.linearize import LinearizationSummary, linearize
from weft.transform.loop_shape import LoopSummary
from weft.transform.nest_selects import nest_selects
from weft.transform.unify_conditions import unify_conditions

Observer = Callable[[str, Module], None]
"""Called after each link of the chain with its name."""


@dataclass(slots=True)
class VectorizationSummary:
    """What became of a function, for remarks and statistics (Moll, Fig. 13.1)."""

    width: int
    loops: list[LoopSummary] = field(default_factory=list)
    gadgets: list[Gadget] = field(default_factory=list)
    branches: LinearizationSummary = field(default_factory=lambda: LinearizationSummary(0, 0, 0))
    notes: WideningNotes = field(default_factory=WideningNotes)
    memory: MemoryStatistics = field(default_factory=MemoryStatistics)


def why_not_vectorized(function: Function) -> str | None:
    """Why the function has to run lane by lane, None when it can be vectorized.

    Edges to ``unreachable`` are dropped first, so that they do not count as control flow, and values with components
    are taken apart.
    """
    drop_unreachable_edges(function)
    take_apart(function)
    if not loop_forest(cfg_of(function).cfg).is_reducible:
        return "its control flow is irreducible"
    returns = sum(b.terminator.op == "ret" for b in function.blocks)
    if returns != 1:
        return f"it has {returns} returns"
    for instruction in function.instructions():
        types = [instruction.type, *(v.type for v in instruction.operands)]
        exchanges = instruction.op == "cmpxchg" or is_old_value(instruction)
        if any(t.is_vector or t.is_aggregate for t in types) and not exchanges:
            return "it holds short vectors or aggregates"
        if instruction.op == "alloca" and not isinstance(instruction.operands[0], ConstInt):
            return "it has a stack object of variable size"
    return None


def make_control_uniform(
    module: Module,
    function: Function,
    lanes: LaneSpace,
    shapes: Mapping[Value, Shape],
    summary: VectorizationSummary,
    observe: Observer = lambda stage, module: None,
    boscc: Boscc | None = None,
    before: Divergence | None = None,
) -> Divergence:
    """Rewrite `function` to control-uniform P-LLVM, what widening and the split at barriers need.

    Returns the divergence of the result, and notes in `summary` what became of loops and branches. `before` is the
    divergence of the function as it is, where known.
    """
    domain = domain_named("product", lanes.extents)

    def analyze() -> Divergence:
        return analyze_divergence(function, domain=domain, initial=shapes, width=lanes.width)

    before = before or analyze()
    uniform = uniform_branches(function, before)
    summary.loops = make_loops_uniform(
        module, function, before, lambda value: not before.shape(value).is_strided
    )
    observe("divergent loops", module)
    unchanged = not any(loop.divergent or loop.guarded for loop in summary.loops)
    leaving = {block for loop in summary.loops for block in loop.leaving}
    now = before if unchanged else analyze()
    branches = insert_wanted(module, function, now, uniform, lanes.width, boscc, leaving)
    summary.gadgets = branches.gadgets
    if branches.gadgets:
        observe("boscc", module)
    summary.branches = linearize(function, branches)
    nest_selects(function)
    remove_dead_instructions(function)
    observe("linearization", module)
    if unchanged and not branches.gadgets and not summary.branches.folded:
        return before
    divergence = analyze()
    if unify_conditions(module, function, divergence):
        observe("conditions", module)
        divergence = analyze()
    return divergence


def vectorize_function(
    module: Module,
    function: Function,
    lanes: LaneSpace,
    name: str,
    shapes: Mapping[Value, Shape],
    find_math: FindMath,
    observe: Observer = lambda stage, module: None,
    boscc: Boscc | None = None,
    find_simd: FindSimd = lambda function, signature: None,
    isa: Isa | None = None,
    scalar_result: bool = True,
) -> tuple[Function, VectorizationSummary]:
    """Add the SIMD version of `function` to `module` as `name` and remove `function`.

    Parameters
    ----------
    shapes
        Shapes of parameters; the others are uniform.
    find_math
        Finds vector math functions.
    boscc
        Where uniform branches go around what divergent ones guard; None for nowhere.
    find_simd
        Finds versions of called functions.
    isa
        What the code is for; the host's instruction set unless given.
    scalar_result
        Whether a uniform result is returned as one value, not as a vector.
    """
    summary = VectorizationSummary(lanes.width)
    divergence = make_control_uniform(module, function, lanes, shapes, summary, observe, boscc)
    summary.memory = memory_statistics(function, divergence)
    vector, summary.notes = widen_function(
        module, function, divergence, lanes, name, find_math, isa, find_simd, scalar_result=scalar_result
    )
    del module.functions[function.name]
    return vector, summary


def guard_by_bits(module: Module, function: Function, width: int) -> Argument:
    """Let only some lanes run: adds a parameter ``lanes`` with a bit for each lane that does."""
    lanes = append_parameter(function, I64, "lanes")
    builder, entry, leave = skip_body(function)
    builder.cond_br(lane_bit(module, builder, lanes, width), entry, leave)
    return lanes


def guard_by_lane(module: Module, function: Function) -> Argument:
    """Let only the first lanes run: adds a parameter ``active``, the number of lanes that do.

    The function's entry becomes a divergent branch on ``lane < active``, to be linearized like any other.
    """
    active = append_parameter(function, I32, "active")
    builder, entry, leave = skip_body(function)
    lane = builder.call(declare(module, "weft.lane.id"), ())
    builder.cond_br(builder.icmp("ult", lane, active), entry, leave)
    return active
