"""Loops of which each iteration writes the same element: the last one does it alone (peeling).

Nobody reads what all iterations but the last one write there, so they need not: ``a[i] = x[j] - y; z[j] = a[i] + w[j]``
along j only computes it. The last iteration runs by itself, as it is written.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.dependences import Dependences
from weft.analysis.sequential.lock_step import lanes_in_step
from weft.analysis.sequential.run_time_tests import RunTimeTests, run_time_tests, test_that_body_runs
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.sequential.sections import parameters_of
from weft.analysis.sequential.verdicts import LoopVerdict
from weft.graph.dominators import dominator_tree
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function, Instruction
from weft.ir.cfg_view import cfg_of
from weft.ir.loop_metadata import mark_in_step
from weft.transform.loops.split_range import can_be_split, split_range


class LastForm(Struct, frozen=True):
    """A loop of which the last iteration is to run alone.

    Parameters
    ----------
    stores
        What only this one needs to write.
    lanes
        How many of the others may run in lock step.
    tests, assumptions
        What is to be tested before the loop, and the same in words.
    """

    stores: tuple[Instruction, ...]
    lanes: int
    tests: RunTimeTests
    assumptions: tuple[Assumption, ...]

    def rewrite(self, function: Function, header: BasicBlock) -> str:
        """Split the loop, and mark the iterations before the last; what remarks say of it."""
        counted = _counted(function, header)
        step = counted.counter.step
        offset = 0 if counted.predicate in ("sle", "sge", "ule", "uge") else -step
        split_range(function, counted, counted.bound, offset)
        for store in self.stores:
            store.erase()
        mark_in_step(counted.latch.terminator, self.lanes)
        return "the last iteration of this loop runs alone: it writes what each one would write over"


def last_form(accesses: Accesses, loop: LoopContext, verdict: LoopVerdict) -> LastForm | None:
    """How a loop runs whose last iteration runs alone; None where that does not help."""
    counted, dependences = loop.counted, verdict.dependences
    if isinstance(counted, str) or not can_be_split(counted) or dependences is None:
        return None
    view = loop.scope.view
    dominators = dominator_tree(view.cfg)
    written = _written_over(dependences, loop)
    latch = view.index[counted.latch]
    if not written or not all(
        i.block is not None and dominators.dominates(view.index[i.block], latch) for i in written
    ):
        return None
    left = tuple(d for d in dependences.found if d.source.instruction not in written)
    lanes = lanes_in_step(loop, Dependences(left, dependences.opaque, (), dependences.is_complete))
    if not lanes:
        return None
    tests = run_time_tests(
        accesses, loop, verdict.assumptions, parameters_of(accesses, loop, verdict.private)
    )
    if isinstance(tests, str) or not test_that_body_runs(tests, accesses, loop, loop):
        return None
    return LastForm(tuple(written), lanes, tests, verdict.assumptions)


def _written_over(dependences: Dependences, loop: LoopContext) -> Collection[Instruction]:
    """Stores that each iteration makes to the same element, and that meet nothing else."""
    found: dict[Instruction, None] = {}
    others: set[Instruction] = set()
    for dependence in dependences.found:
        first, second = dependence.source, dependence.sink
        if first.instruction is second.instruction and _is_fixed(first, loop):
            found[first.instruction] = None
        else:
            others |= {first.instruction, second.instruction}
    return [i for i in found if i not in others]


def _is_fixed(access: Access, loop: LoopContext) -> bool:
    return (
        access.scope is loop.scope
        and access.loop is loop
        and access.is_certain
        and access.base is not None
        and access.instruction.op == "store"
        and not any(loop.contains(s.loop) for s in access.offset.symbols())
    )


def _counted(function: Function, header: BasicBlock) -> CountedLoop:
    view = cfg_of(function)
    loop = loop_forest(view.cfg).headed_by[view.index[header]]
    assert loop is not None
    counted = counted_loop(view, loop)
    assert isinstance(counted, CountedLoop), counted
    return counted
