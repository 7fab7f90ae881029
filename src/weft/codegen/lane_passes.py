"""The region vectorizer as a list of passes: a function for one thread becomes one for W threads in SIMD lanes.

The chain (Moll, ch. 3): divergence analysis; divergent loops made uniform; partial linearization with masks; analysis
again, of what is now control-uniform; widening. Each link is P-LLVM that the interpreter runs. Kernels, bodies of
parallel loops, functions of other compilers and whatever these call go through the same list.
"""

from __future__ import annotations

from collections.abc import Collection

from weft.analysis.divergence import Divergence
from weft.analysis.loops.reread_rows import reread_rows
from weft.analysis.memory.promises import Promise
from weft.codegen.lane_unit import EveryBranch, LaneUnit
from weft.codegen.obstacles import clear_obstacles, why_not_vectorized
from weft.codegen.statistics import memory_statistics
from weft.codegen.widen import widen_function
from weft.costs.constants import constants_of
from weft.costs.replaced_loads import ReplacedLoads
from weft.graph.loops import loop_forest
from weft.ir import Function, Instruction
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import cfg_of
from weft.ir.locations import span_of
from weft.ir.types import I8, I16
from weft.passes.declared import Fact, Meaning, Pass
from weft.passes.runner import Runner
from weft.transform.boscc.insertion import BosccMode, BosccResult, insert_wanted
from weft.transform.linearization.linearize import linearize
from weft.transform.linearization.nest_selects import nest_selects
from weft.transform.linearization.unify_conditions import unify_conditions
from weft.transform.loops.close_loops import is_loop_closed
from weft.transform.loops.copy_rows import copy_rows
from weft.transform.loops.divergent_loops import BranchDivergence, make_loops_uniform, uniform_branches
from weft.transform.loops.full_groups import run_full_groups
from weft.transform.loops.guess_ranges import guess_ranges
from weft.transform.loops.share_stacks import share_stacks
from weft.transform.loops.uniform_exits import split_uniform_exits
from weft.transform.meeting_stores import merge_meeting_stores
from weft.transform.numbers.aligned_versions import add_aligned_version
from weft.transform.numbers.flushed_counts import flush_counts
from weft.transform.numbers.front_versions import add_front_version
from weft.transform.numbers.guess_conversions import guess_conversions
from weft.transform.numbers.inner_versions import add_inner_version, strided_inside
from weft.transform.numbers.known_numbers import replace_known_numbers
from weft.transform.numbers.narrow_chains import has_narrow_numbers, narrow_chains
from weft.transform.numbers.narrow_phis import narrow_phis
from weft.transform.numbers.narrowing import narrow_varying
from weft.transform.numbers.shared_comparisons import compare_shared
from weft.transform.rows_in_turn import store_row_by_row
from weft.transform.scalar_replacement.policy import POLICIES, PolicyName
from weft.transform.scalar_replacement.replacement import replace_loads


def is_unmasked(function: Function) -> bool:
    """Whether each thread that comes to an instruction does it: the program is plain LLVM IR."""
    return not any(
        block.predicate is not None
        or any(i.total or i.guard is not None or i.shadow is not None for i in block)
        for block in function.blocks
    )


def _has_uniform_loops(unit: LaneUnit) -> bool:
    view = cfg_of(unit.function)
    loops = loop_forest(view.cfg).loops
    exiting = {b for loop in loops for b in loop.blocks if not set(view.cfg.succs[b]) <= set(loop.blocks)}
    return all(unit.is_uniform_branch(view.blocks[b]) for b in exiting)


VECTORIZABLE = Fact(
    "vectorizable",
    "reducible control flow, one return, scalar values",
    lambda unit: why_not_vectorized(unit.function) is None,
)
UNMASKED = Fact(
    "free of masks",
    "no block predicates, shadows, guards or total instructions",
    lambda unit: is_unmasked(unit.function),
)
LOOP_CLOSED = Fact(
    "loop-closed",
    "what loops compute is used behind them by φs of their exit blocks alone",
    lambda unit: is_loop_closed(unit.function),
)
UNIFORM_LOOPS = Fact(
    "free of divergent loops", "threads that enter a loop together leave it together", _has_uniform_loops
)
CONTROL_UNIFORM = Fact("control-uniform", "no branch is divergent, blocks that run for a part have a mask")


def _replace_known_numbers(unit: LaneUnit) -> bool:
    return replace_known_numbers(unit.function) > 0


def _narrow_phis(unit: LaneUnit) -> bool:
    return narrow_phis(unit.function) > 0


def _merge_meeting_stores(unit: LaneUnit) -> bool:
    return merge_meeting_stores(unit.function) > 0


def _store_row_by_row(unit: LaneUnit) -> bool:
    if not store_row_by_row(unit.function):
        return False
    unit.forget()
    return True


def _clear_obstacles(unit: LaneUnit) -> bool:
    if not clear_obstacles(unit.function):
        return False
    unit.forget()
    return True


def _guess_ranges(unit: LaneUnit) -> bool:
    unit.summary.guessed = guess_ranges(unit.function, unit.divergence)
    if not unit.summary.guessed:
        unit.summary.guessed = guess_conversions(unit.function, unit.divergence)
    if not unit.summary.guessed:
        return False
    unit.forget()
    return True


def _narrow(unit: LaneUnit) -> bool:
    compared = compare_shared(unit.function, unit.divergence)
    if compared:
        unit.forget()
    flushed = flush_counts(unit.function, unit.divergence)
    if flushed:
        unit.forget()
    for type in (I8, I16) if has_narrow_numbers(unit.function) else ():
        count = narrow_chains(unit.function, unit.divergence, unit.isa, type)
        if count:
            unit.summary.small += count
            remove_dead_instructions(unit.function)
            unit.forget()
    unit.summary.narrowed = narrow_varying(unit.function, unit.divergence, strided_at_no_edge(unit))
    if unit.summary.narrowed:
        unit.forget()
    unit.summary.narrowed += flushed
    return bool(compared or unit.summary.small or unit.summary.narrowed)


def _share_stacks(unit: LaneUnit) -> bool:
    in_any_order = unit.switches.scalar_replacement != PolicyName.OFF
    unit.summary.together = share_stacks(
        unit.function, unit.divergence, unit.analyze_copy, unit.lanes.width, may_write=in_any_order
    )
    if not unit.summary.together:
        return False
    unit.forget()
    return True


def _copy_rows(unit: LaneUnit) -> bool:
    found = reread_rows(unit.divergence)
    rows = found.fitting(constants_of(unit.isa).row_copies, unit.lanes.width)
    if not rows:
        return False
    unit.summary.copied = [span_of(row.loads[0]) for row in rows]
    unit.summary.replacement.arrays_apart |= found.arrays_apart
    copy_rows(unit.function, rows)
    unit.forget()
    return True


def _add_aligned_version(unit: LaneUnit) -> bool:
    if unit.seldom or len(unit.lanes.extents) != 1:
        return False
    unit.summary.aligned = add_aligned_version(
        unit.function, unit.divergence, unit.lanes.width, unit.analyze_copy
    )
    if unit.summary.aligned:
        unit.forget()
    return unit.summary.aligned


def _add_front_version(unit: LaneUnit) -> bool:
    if unit.seldom:
        return False
    unit.summary.front = add_front_version(unit.function, unit.divergence)
    if unit.summary.front:
        unit.forget()
    return unit.summary.front


def _may_have_inner_version(unit: LaneUnit) -> bool:
    switches = unit.switches
    if unit.seldom or len(unit.lanes.extents) != 1 or INNER_VERSIONS.name in switches.without:
        return False
    return switches.uniform_values and switches.uniform_control


def strided_at_no_edge(unit: LaneUnit) -> frozenset[Instruction]:
    """What is strided in the version for lane groups at no edge alone."""
    if not _may_have_inner_version(unit):
        return frozenset()
    return strided_inside(unit.function, unit.divergence, unit.analyze_copy)


def _add_inner_version(unit: LaneUnit) -> bool:
    unit.summary.inner = add_inner_version(unit.function, unit.divergence, unit.analyze_copy)
    if unit.summary.inner:
        unit.forget()
    return unit.summary.inner


def _run_full_groups(unit: LaneUnit) -> bool:
    if unit.seldom or len(unit.lanes.extents) != 1:
        return False

    unit.summary.full_loops = run_full_groups(
        unit.function, unit.divergence, unit.analyze_again, unit.lanes.width
    )
    if not unit.summary.full_loops:
        return False
    unit.forget()
    return True


def _replace_loads(unit: LaneUnit) -> bool:
    return _replace_by(unit, PolicyName(unit.switches.scalar_replacement), weighed=True)


def _replace_by(unit: LaneUnit, name: PolicyName, weighed: bool) -> bool:
    """Replace loads by a policy; `weighed` leaves those that the cost model expects to lose by."""
    begun = False

    def analyze() -> Divergence:
        nonlocal begun
        if begun:
            unit.forget()
        begun = True
        return unit.divergence

    def judge(divergence: Divergence) -> ReplacedLoads:
        return ReplacedLoads(divergence, unit.isa, unit.lanes.width)

    apart = unit.summary.replacement.arrays_apart
    unit.summary.replacement = replace_loads(
        unit.function, POLICIES[name], analyze, judge=judge if weighed else None
    )
    unit.summary.replacement.arrays_apart |= apart
    if not unit.summary.replacement.changed:
        return False
    unit.forget()
    return True


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


KNOWN_NUMBERS: Pass[LaneUnit] = Pass(
    "known numbers", "no number of known sign is asked for it", _replace_known_numbers, optional=True
)
NARROW_PHIS: Pass[LaneUnit] = Pass("narrow φs", "no φ is wider than its uses", _narrow_phis, optional=True)
MEETING_STORES: Pass[LaneUnit] = Pass(
    "meeting stores",
    "ways that meet do not end with stores to one place",
    _merge_meeting_stores,
    optional=True,
)
ROWS_IN_TURN: Pass[LaneUnit] = Pass(
    "rows in turn",
    "stores that go to several rows by turns go row by row where rows are far enough apart",
    _store_row_by_row,
    optional=True,
)
OBSTACLES: Pass[LaneUnit] = Pass(
    "obstacles",
    "edges to what is never reached are no control flow, loops have one entry, vectors are replaced by scalars",
    _clear_obstacles,
)
GUESSED_RANGES: Pass[LaneUnit] = Pass(
    "guessed ranges",
    "loops, and what floats become, fit 32 bits as far as turns out, and are left for a copy where they do not",
    _guess_ranges,
    requires=(VECTORIZABLE, UNMASKED),
    provides=(VECTORIZABLE, UNMASKED),
    optional=True,
)
NARROWING: Pass[LaneUnit] = Pass(
    "narrowing",
    "numbers that differ from lane to lane have 8, 16 or 32 bits where they fit and it pays",
    _narrow,
    optional=True,
)
SHARED_STACKS: Pass[LaneUnit] = Pass(
    "shared stacks",
    "threads that walk by stacks of what is the same for all who put it there have one stack, and walk together",
    _share_stacks,
    requires=(VECTORIZABLE, UNMASKED),
    provides=(VECTORIZABLE, UNMASKED),
    optional=True,
    applies=lambda unit: unit.switches.uniform_values and unit.switches.uniform_control,
    source="Goldfarb, Jo and Kulkarni, SC 2013; Moll, §13.1",
)
ROW_COPIES: Pass[LaneUnit] = Pass(
    "row copies",
    "rows that each lane reads again and again lie side by side in the nearest cache, where they fit",
    _copy_rows,
    requires=(VECTORIZABLE, UNMASKED),
    provides=(VECTORIZABLE, UNMASKED),
    optional=True,
    applies=lambda unit: unit.switches.scalar_replacement != PolicyName.OFF,
)
ALIGNED_VERSIONS: Pass[LaneUnit] = Pass(
    "aligned versions",
    "lane groups whose numbers are all of one stretch have a version, where its accesses are better",
    _add_aligned_version,
    requires=(VECTORIZABLE, UNMASKED),
    provides=(VECTORIZABLE, UNMASKED),
    optional=True,
    applies=lambda unit: unit.switches.uniform_values and unit.switches.uniform_control,
)
FRONT_VERSIONS: Pass[LaneUnit] = Pass(
    "front versions",
    "lane groups none of whose indices counts from the end have a version",
    _add_front_version,
    requires=(VECTORIZABLE, UNMASKED),
    provides=(VECTORIZABLE, UNMASKED),
    optional=True,
    applies=lambda unit: unit.switches.uniform_values and unit.switches.uniform_control,
)
INNER_VERSIONS: Pass[LaneUnit] = Pass(
    "inner versions",
    "lane groups that are at no edge have a version, where its accesses are better",
    _add_inner_version,
    requires=(VECTORIZABLE, UNMASKED),
    provides=(VECTORIZABLE, UNMASKED),
    optional=True,
    applies=_may_have_inner_version,
)
FULL_GROUPS: Pass[LaneUnit] = Pass(
    "full groups",
    "loops that threads leave in the order of their lanes have no masks while all stay",
    _run_full_groups,
    requires=(VECTORIZABLE, UNMASKED),
    provides=(VECTORIZABLE, UNMASKED),
    optional=True,
    applies=lambda unit: unit.switches.uniform_values and unit.switches.uniform_control,
)
SCALAR_REPLACEMENT: Pass[LaneUnit] = Pass(
    "scalar replacement",
    "no load reads what is known from this iteration or some before, where keeping it pays",
    _replace_loads,
    requires=(UNMASKED,),
    provides=(UNMASKED,),
    optional=True,
    applies=lambda unit: unit.switches.scalar_replacement != PolicyName.OFF,
    source="Fukuhara and Takimoto, §4 and §5",
)


def _by_policy(name: PolicyName) -> Pass[LaneUnit]:
    return Pass(
        name.value,
        "no load reads what is known from this iteration or some before",
        lambda unit: _replace_by(unit, name, weighed=False),
        requires=(UNMASKED,),
        provides=(UNMASKED,),
        optional=True,
        source="Fukuhara and Takimoto, §4 and §5",
    )


BY_POLICY = tuple(_by_policy(name) for name in PolicyName if name is not PolicyName.OFF)
"""Scalar replacement by one policy, whatever it costs: to be run by hand."""

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


def narrowing_passes(left_out: Collection[str]) -> tuple[Pass[LaneUnit], ...]:
    """What makes numbers narrow; guesses are for nothing where that is left out."""
    return () if NARROWING.name in left_out else (GUESSED_RANGES, NARROWING)


BODIES = (KNOWN_NUMBERS, NARROW_PHIS, MEETING_STORES, ROWS_IN_TURN, OBSTACLES)
"""On the body of a loop, before its lanes are planned; kernels have the same on their modules."""

LINEAR_LANES = (
    SHARED_STACKS,
    ROW_COPIES,
    ALIGNED_VERSIONS,
    INNER_VERSIONS,
    FRONT_VERSIONS,
    FULL_GROUPS,
    SCALAR_REPLACEMENT,
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
