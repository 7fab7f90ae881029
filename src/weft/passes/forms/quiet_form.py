"""Loops of which most iterations change nothing, rewritten so that lanes ask ranges of them (`skip_quiet`)."""

from __future__ import annotations

from collections.abc import Callable

from weft.analysis.loops.quiet_iterations import Question, quiet_iterations
from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.run_time_tests import RunTimeTests, run_time_tests
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.sequential.sections import parameters_of
from weft.analysis.sequential.speculative_loads import bounds_to_test
from weft.analysis.sequential.verdicts import LoopVerdict
from weft.graph.dominators import dominator_tree
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function
from weft.ir.cfg_view import cfg_of
from weft.ir.loop_metadata import mark_in_step
from weft.transform.loops.skip_quiet import RANGE, skip_quiet_iterations

MOST_LANES = 64

Form = Callable[[Function, BasicBlock], str]
"""Rewrites the loop with a header; what remarks say of it."""

Tested = tuple[RunTimeTests, tuple[Assumption, ...]]


def skips_quiet_iterations(accesses: Accesses, loop: LoopContext, verdict: LoopVerdict) -> Tested | str:
    """Whether a search, or a minimum with its place, may ask ranges of iterations: what to test; or why not."""
    question = _question(loop.scope.function, loop.header)
    if isinstance(question, str):
        return question
    # No comparison is made in another order, and nothing is written.
    assumptions = tuple(a for a in verdict.assumptions if a.kind not in ("nan", "reassociation"))
    if not question.unproved:
        return RunTimeTests(), ()
    bounds = bounds_to_test(accesses, loop, question.unproved)
    if isinstance(bounds, str):
        return bounds
    tests = run_time_tests(accesses, loop, assumptions, parameters_of(accesses, loop, verdict.private))
    if isinstance(tests, str):
        return tests
    tests.nonnegative.update(dict.fromkeys(bounds))
    return tests, assumptions


def skip_quiet(function: Function, header: BasicBlock) -> str:
    """Let lanes ask ranges of iterations whether they change anything; a `Form`."""
    question = _question(function, header)
    assert isinstance(question, Question), question
    latch = skip_quiet_iterations(function, question)
    mark_in_step(latch.terminator, MOST_LANES)
    what = "leaves the loop" if not question.states else "finds something new"
    if question.early and question.states:
        what = "leaves the loop or finds something new"
    return f"{RANGE} iterations of this loop at a time are asked whether one {what}, and are left out if none does"


def _question(function: Function, header: BasicBlock) -> Question | str:
    view = cfg_of(function)
    loop = next(x for x in loop_forest(view.cfg).loops if view.blocks[x.header] is header)
    return quiet_iterations(view, dominator_tree(view.cfg), loop)
