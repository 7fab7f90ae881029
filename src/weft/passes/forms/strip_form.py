"""Loops that run in strips, part by part: in lanes, or in order (`weft.costs.strips`)."""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.analysis.loops.parallel_loops import ParallelLoop
from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.run_time_tests import RunTimeTests, run_time_tests
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.sequential.sections import parameters_of
from weft.analysis.sequential.verdicts import LoopVerdict
from weft.costs.strips import Strips, strips_of
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function, Instruction
from weft.ir.cfg_view import cfg_of
from weft.ir.loop_metadata import mark_in_step
from weft.machine.targets import Isa
from weft.passes.forms.lock_step_form import Plan
from weft.transform.loops.run_in_strips import STRIP, run_in_strips

MOST_LANES = 64


class StripForm(Struct, frozen=True):
    """A loop that is to run in strips.

    Parameters
    ----------
    strips
        How.
    tests, assumptions
        What is to be tested before the loop, and the same in words.
    """

    strips: Strips
    tests: RunTimeTests
    assumptions: tuple[Assumption, ...]

    def rewrite(self, function: Function, header: BasicBlock) -> str:
        """Rewrite the loop, and mark the loops that lanes can run; what remarks say of it."""
        view = cfg_of(function)
        loop = next(x for x in loop_forest(view.cfg).loops if view.blocks[x.header] is header)
        counted = counted_loop(view, loop)
        assert isinstance(counted, CountedLoop), counted
        parts = self.strips.parts
        body = self.strips.body(view, counted)
        slices = [body.slice(part.nodes) for part in parts]
        for latch, part in zip(run_in_strips(function, body, slices), parts, strict=True):
            if part.in_lanes:
                mark_in_step(latch.terminator, MOST_LANES)
        number = sum(part.in_lanes for part in parts)
        handed = len({value for part in slices for value in part.given})
        given = f", which hand {_counted(handed, 'value')} on in arrays" if handed else ""
        return (
            f"{STRIP} iterations of this loop at a time run as {len(parts)} loops, {number} in lanes and "
            f"{len(parts) - number} in order{given}"
        )


def strip_form(
    accesses: Accesses, loop: LoopContext, verdict: LoopVerdict, plan: Plan, isa: Isa, *, vector_math: bool
) -> StripForm | None:
    """How a loop runs in strips; None where it cannot, or that does not pay."""
    phis = list(loop.header.phis())

    def is_combined(phi: Instruction) -> bool:
        return isinstance(plan(loop, [p for p in phis if p is not phi]), ParallelLoop)

    strips = strips_of(accesses, loop, verdict, is_combined, isa, vector_math=vector_math)
    if strips is None:
        return None
    assumptions = tuple(a for a in verdict.assumptions if a.kind not in ("nan", "reassociation"))
    tests = run_time_tests(accesses, loop, assumptions, parameters_of(accesses, loop, verdict.private))
    return None if isinstance(tests, str) else StripForm(strips, tests, assumptions)


def _counted(number: int, what: str) -> str:
    return f"one {what}" if number == 1 else f"{number} {what}s"
