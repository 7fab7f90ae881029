"""The region vectorizer as a list of passes: a function for one thread becomes one for W threads in SIMD lanes.

The chain (Moll, ch. 3): divergence analysis; divergent loops made uniform; partial linearization with masks; analysis
again, of what is now control-uniform; widening. Each link is P-LLVM that the interpreter runs. Kernels, bodies of
parallel loops, functions of other compilers and whatever these call go through the same list.
"""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.analysis.memory.promises import Promise
from weft.codegen.lanes.lane_facts import UNMASKED, VECTORIZABLE
from weft.codegen.lanes.lane_unit import EveryBranch, LaneUnit
from weft.codegen.lanes.plain_passes import REWRITES
from weft.codegen.said.statistics import memory_statistics
from weft.codegen.widen import widen_function
from weft.graph.loops import loop_forest
from weft.ir import Function
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import cfg_of
from weft.passes.declared import Fact, Meaning, Pass
from weft.passes.runner import Runner
from weft.transform.boscc.insertion import BosccMode, BosccResult, insert_wanted
from weft.transform.linearization.linearize import linearize
from weft.transform.linearization.nest_selects import nest_selects
from weft.transform.linearization.unify_conditions import unify_conditions
from weft.transform.loops.close_loops import is_loop_closed
from weft.transform.loops.divergent_loops import BranchDivergence, make_loops_uniform, uniform_branches
from weft.transform.loops.uniform_exits import split_uniform_exits


def _has_uniform_loops(unit: LaneUnit) -> bool:
    view = cfg_of(unit.function)
    loops = loop_forest(view.cfg).loops
    exiting = {b for loop in loops for b in loop.blocks if not set(view.cfg.succs[b]) <= set(loop.blocks)}
    return all(unit.is_uniform_branch(view.blocks[b]) for b in exiting)


LOOP_CLOSED = Fact(
    "loop-closed",
    "what loops compute is used behind them by φs of their exit blocks alone",
    lambda unit: is_loop_closed(unit.function),
)
UNIFORM_LOOPS = Fact(
    "free of divergent loops", "threads that enter a loop together leave it together", _has_uniform_loops
)
CONTROL_UNIFORM = Fact("control-uniform", "no branch is divergent, blocks that run for a part have a mask")


def _split_exits(unit: LaneUnit) -> bool:
    if not split_uniform_exits(unit.function, unit.divergence):
        return False
    unit.forget()
    return True


def _make_loops_uniform(unit: LaneUnit) -> bool:
    before, summary = unit.divergence, unit.summary
    branching: BranchDivergence = before
    if not unit.switches.uniform_control:
        branching = unit.branching = EveryBranch.of(unit.function)
    unit.uniform = uniform_branches(unit.function, branching)
    summary.loops = make_loops_uniform(
        unit.module, unit.function, branching, lambda value: not before.shape(value).is_strided
    )
    unit.leaving = {block for loop in summary.loops for block in loop.leaving}
    if not any(loop.divergent or loop.guarded for loop in summary.loops):
        return False
    unit.forget()
    unit.rewritten = True
    return True


def _insert_gadgets(unit: LaneUnit) -> bool:
    unit.branches = insert_wanted(
        unit.module, unit.function, unit.divergence, unit.uniform or (), unit.lanes.width, unit.boscc,
        unit.leaving, unit.branching,
    )  # fmt: skip
    unit.summary.gadgets = unit.branches.gadgets
    if not unit.branches.gadgets:
        return False
    unit.forget()
    unit.rewritten = True
    return True


def _linearize(unit: LaneUnit) -> None:
    branches = unit.branches or BosccResult(unit.branching or unit.divergence, set(unit.uniform or ()))
    unit.summary.branches = linearize(unit.function, branches)
    nest_selects(unit.function)
    remove_dead_instructions(unit.function)
    unit.rewritten |= unit.summary.branches.folded > 0
    if unit.rewritten:
        unit.forget()


def _unify_conditions(unit: LaneUnit) -> bool:
    if not unify_conditions(unit.module, unit.function, unit.divergence):
        return False
    unit.forget()
    return True


def _widen(unit: LaneUnit) -> None:
    source, form = unit.function, unit.form
    promise = Promise.of(source)
    unit.summary.memory = memory_statistics(source, unit.divergence)
    unit.function, unit.summary.notes = widen_function(
        unit.module, source, unit.divergence, unit.lanes, form.name, unit.find_math, unit.isa, unit.find_simd,
        into=form.into, entry_mask=form.entry_mask, scalar_result=form.scalar_result,
        switches=unit.switches, promise=promise,
    )  # fmt: skip
    unit.summary.replacement.arrays_apart |= promise is not None and promise.is_used
    unit.summary.functions.append(unit.function)
    del unit.module.functions[source.name]
    unit.forget()
    unit.finish()


UNIFORM_EXITS: Pass[LaneUnit] = Pass(
    "uniform exits",
    "what all lanes share of a condition to leave a loop has a branch of its own",
    _split_exits,
    requires=(VECTORIZABLE, UNMASKED, LOOP_CLOSED),
    provides=(VECTORIZABLE, UNMASKED, LOOP_CLOSED),
    optional=True,
    applies=lambda unit: unit.switches.uniform_values and unit.switches.uniform_control,
)
DIVERGENT_LOOPS: Pass[LaneUnit] = Pass(
    "divergent loops",
    "threads that enter a loop together leave it together",
    _make_loops_uniform,
    Meaning.BOTH,
    requires=(VECTORIZABLE, LOOP_CLOSED),
    provides=(UNIFORM_LOOPS,),
    source="Moll, §9.1",
)
BOSCC: Pass[LaneUnit] = Pass(
    "boscc",
    "uniform branches around what divergent branches guard, where they pay",
    _insert_gadgets,
    Meaning.BOTH,
    requires=(UNIFORM_LOOPS,),
    provides=(UNIFORM_LOOPS,),
    optional=True,
    applies=lambda unit: unit.boscc is not None and unit.boscc.mode is not BosccMode.OFF,
    source="Moll, §9.2",
)
LINEARIZATION: Pass[LaneUnit] = Pass(
    "linearization",
    "no divergent branch, masks as block predicates",
    _linearize,
    Meaning.BOTH,
    requires=(UNIFORM_LOOPS,),
    provides=(CONTROL_UNIFORM,),
    source="Moll, ch. 8; Karrenberg and Hack, §3",
)
CONDITIONS: Pass[LaneUnit] = Pass(
    "conditions",
    "branches whose conditions lanes share have one condition, not a vector of them",
    _unify_conditions,
    Meaning.BOTH,
    requires=(CONTROL_UNIFORM,),
    provides=(CONTROL_UNIFORM,),
    optional=True,
    applies=lambda unit: unit.rewritten,
)
WIDENING: Pass[LaneUnit] = Pass(
    "widening",
    "lanes are elements of vectors; what is uniform or strided stays scalar",
    _widen,
    Meaning.SCALAR,
    requires=(CONTROL_UNIFORM,),
    source="Moll, ch. 10; Karrenberg and Hack, §3",
)


LINEAR_LANES = (
    *REWRITES,
    UNIFORM_EXITS,
    DIVERGENT_LOOPS,
    BOSCC,
    LINEARIZATION,
    CONDITIONS,
)
"""To control-uniform P-LLVM: what widening and the split at barriers need."""

LANES = (*LINEAR_LANES, WIDENING)
"""To SIMD code."""


def vectorize(unit: LaneUnit, runner: Runner | None = None) -> Function:
    """Put the SIMD version of a unit's function in its place; return it."""
    (runner or Runner()).run(LANES, unit)
    return unit.function


def make_control_uniform(unit: LaneUnit, runner: Runner | None = None) -> Divergence:
    """Rewrite a unit's function to control-uniform P-LLVM; return the divergence of the result."""
    (runner or Runner()).run(LINEAR_LANES, unit)
    return unit.divergence
