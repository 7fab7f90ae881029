"""Elements that a loop computes each from the one before, handed on as numbers, for kernels of scans.

    for i: a[i] = a[i - 1] + b[i]        s = a[first - 1]; for i: s = s + b[i]; a[i] = s

The loop is then one whose values on the way are used, and no iteration reads what another one stores. That the value is
the element is proved by scalar replacement (Fukuhara and Takimoto, 2021, §4.2), which reads the first element only if
an iteration follows. Precondition: a report on functions as they are. Preserves the program under FR where what the
report assumes of the loop holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from weft.analysis.divergence import analyze_divergence
from weft.analysis.questions.solution import Solution
from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.patterns import Pattern, element_pattern
from weft.analysis.sequential.verdicts import Verdict
from weft.ir import BasicBlock, Function, Instruction
from weft.ir.intrinsics import ARRAYS_APART_ATTRIBUTE
from weft.report.loops.nests import LoopNestReport
from weft.transform.scalar_replacement.policy import POLICIES, PolicyName
from weft.transform.scalar_replacement.replacement import replace_loads


class _Only(Struct, frozen=True):
    """Lets scalar replacement do some loads, and nothing else."""

    loads: frozenset[Instruction]

    def not_worth_it(self, solution: Solution) -> set[Instruction]:
        return set(solution.replaced) - self.loads

    def is_worth_hoisting(self, hoisted: Instruction, served: list[Instruction]) -> bool:
        return False

    def is_worth_sinking(
        self, stores: Sequence[Instruction], exits: Sequence[BasicBlock], certain: bool
    ) -> bool:
        return False


def hand_on_elements(functions: Sequence[Function], report: LoopNestReport) -> bool:
    """Rewrite the scans of some functions that go through memory; whether there are any.

    Parameters
    ----------
    functions
        The functions.
    report
        What was found of them; holds no more of those that are rewritten.
    """
    loads = frozenset(_read_back(report))
    changed = False
    for function in functions:
        if any(i in loads for i in function.instructions()):
            # What else the loop stores does not meet what it reads back: that is a part of what was found of it.
            attributes = function.attributes
            function.attributes = (*attributes, f'"{ARRAYS_APART_ATTRIBUTE}"')
            summary = replace_loads(
                function,
                POLICIES[PolicyName.SRQP],
                lambda function=function: analyze_divergence(function, width=1),
                judge=lambda divergence: _Only(loads),
                max_distance=1,
            )
            function.attributes = attributes
            changed |= summary.changed
    return changed


def _read_back(report: LoopNestReport) -> Iterator[Instruction]:
    """The loads of what the iteration before has stored, and of what the iteration itself has."""
    for loop in report.loops:
        dependences = loop.found.dependences
        around = [r for r in report.loops if r.loop is not loop.loop and r.loop.contains(loop.loop)]
        if loop.found.verdict is not Verdict.SCAN or dependences is None:
            continue
        if any(r.found.verdict is not Verdict.SEQUENTIAL for r in around):
            # The loop around is the kernel.
            continue
        own = [a for a in Accesses(loop.reconstruction).of(loop.loop) if isinstance(a, Access)]
        for dependence in dependences.found:
            known = element_pattern(dependence, loop.loop)
            if known is None or known[0] is not Pattern.SCAN:
                continue
            store = dependence.source
            yield dependence.sink.instruction
            for access in own:
                if (access.base, access.offset) == (store.base, store.offset):
                    yield access.instruction
        stored = {(a.base, a.offset) for a in own if a.is_write}
        for access in own:
            if not access.is_write and (access.base, access.offset) in stored:
                yield access.instruction
