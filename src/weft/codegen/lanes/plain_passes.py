"""What is rewritten before a function goes into lanes: passes from plain LLVM IR to plain LLVM IR.

Each knows the function's lanes and their divergence, and changes no control flow for their sake: what makes numbers
narrow, versions for lane groups of one kind, stacks and rows that lanes share, and scalar replacement.
`weft.codegen.lanes.lane_passes` goes on from there.
"""

from __future__ import annotations

from collections.abc import Collection

from weft.analysis.divergence import Divergence
from weft.codegen.lanes.lane_facts import UNMASKED, VECTORIZABLE
from weft.codegen.lanes.lane_unit import LaneUnit
from weft.codegen.lanes.obstacles import clear_obstacles
from weft.codegen.lanes.row_passes import ROW_COPIES, ROW_STRIPS
from weft.codegen.simd_functions.lanes_in_turn import run_in_turn
from weft.costs.replaced_loads import ReplacedLoads
from weft.ir import Instruction
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.types import I8, I16
from weft.passes.declared import Pass
from weft.transform.loops.full_groups import run_full_groups
from weft.transform.loops.guess_ranges import guess_ranges
from weft.transform.loops.share_stacks import share_stacks
from weft.transform.meeting_stores import merge_meeting_stores
from weft.transform.numbers.aligned_versions import add_aligned_version
from weft.transform.numbers.equal_numbers import use_common_numbers
from weft.transform.numbers.flushed_counts import flush_counts
from weft.transform.numbers.front_versions import add_front_version
from weft.transform.numbers.guess_conversions import guess_conversions
from weft.transform.numbers.inner_versions import add_inner_version, has_inner_version, strided_inside
from weft.transform.numbers.known_numbers import replace_known_numbers
from weft.transform.numbers.narrow_chains import has_narrow_numbers, narrow_chains
from weft.transform.numbers.narrow_phis import narrow_phis
from weft.transform.numbers.narrowing import narrow_varying
from weft.transform.numbers.shared_comparisons import compare_shared
from weft.transform.numbers.shifted_masks import separate_multiples
from weft.transform.rows_in_turn import store_row_by_row
from weft.transform.scalar_replacement.policy import POLICIES, PolicyName
from weft.transform.scalar_replacement.replacement import replace_loads


def _replace_known_numbers(unit: LaneUnit) -> bool:
    return replace_known_numbers(unit.function) + separate_multiples(unit.function) > 0


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


def _use_common_numbers(unit: LaneUnit) -> bool:
    if not use_common_numbers(unit.function, unit.divergence):
        return False
    unit.forget()
    return True


def _narrow(unit: LaneUnit) -> bool:
    compared = _use_common_numbers(unit)
    if compare_shared(unit.function, unit.divergence):
        compared = True
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


def is_better_at_no_edge(unit: LaneUnit, *, behind_guards: bool = False) -> bool:
    """Whether lane groups at no edge get a version of their own; guards that become bounds of rows may be in it yet."""
    return _may_have_inner_version(unit) and has_inner_version(
        unit.function, unit.divergence, unit.analyze_copy, behind_guards=behind_guards
    )


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


KNOWN_NUMBERS: Pass[LaneUnit] = Pass(
    "known numbers",
    "no number of known sign is asked for it; multiples of quotients are written as such",
    _replace_known_numbers,
    optional=True,
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
COMMON_NUMBERS: Pass[LaneUnit] = Pass(
    "common numbers",
    "where a number of each lane's own is known to equal one that all lanes have, that is used",
    _use_common_numbers,
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


LANES_IN_TURN: Pass[LaneUnit] = Pass(
    "lanes in turn",
    "lanes that had better run one after the other call the function for one lane",
    run_in_turn,
    requires=(VECTORIZABLE, UNMASKED),
    provides=(VECTORIZABLE, UNMASKED),
    optional=True,
)


def narrowing_passes(left_out: Collection[str]) -> tuple[Pass[LaneUnit], ...]:
    """What makes numbers narrow; guesses are for nothing where that is left out."""
    return () if NARROWING.name in left_out else (GUESSED_RANGES, NARROWING)


def narrowing_of_boxes(left_out: Collection[str]) -> tuple[Pass[LaneUnit], ...]:
    """What makes numbers of boxes narrow: nothing is guessed, as a box has no second version for wrong guesses."""
    return () if NARROWING.name in left_out else (NARROWING,)


BODIES = (KNOWN_NUMBERS, NARROW_PHIS, MEETING_STORES, ROWS_IN_TURN, OBSTACLES)
"""On the body of a loop, before its lanes are planned; kernels have the same on their modules."""

_VERSIONS = (ALIGNED_VERSIONS, INNER_VERSIONS, FRONT_VERSIONS, FULL_GROUPS)
REWRITES = (COMMON_NUMBERS, SHARED_STACKS, ROW_COPIES, *_VERSIONS, SCALAR_REPLACEMENT, ROW_STRIPS)
"""On what goes into lanes, before its control flow is changed."""
