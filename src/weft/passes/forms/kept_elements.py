"""Elements that loops in order update again and again stay in registers (``parallel="auto"``, ``--loop auto``).

In ``for k: t[i, j] = max(t[i, j], t[i, k] + t[k + 1, j])`` LLVM stores and loads t[i, j] in each round, as it does not
see that t[i, k] and t[k + 1, j] are other elements, and each round waits for the store of the one before it. Integer
sets say that they are others. What that rests on is tested before the outermost loop where it can be asked; where a
test fails a copy of that runs as it was written.
"""

from __future__ import annotations

from collections.abc import Collection

from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.dependences import DependenceTest
from weft.analysis.sequential.orders import Anyhow
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.run_time_tests import RunTimeTests, run_time_tests, test_that_body_runs
from weft.analysis.sequential.scope import ArrayParameters, LoopContext, Program, Scope
from weft.analysis.sequential.sections import parameters_of
from weft.ir import BasicBlock, Function, Module
from weft.passes.nests.rows_together import with_promotions
from weft.transform.loops.promote_elements import Promotion, find_promotions

MOST_COPIED = 200
"""Instructions of a loop of which there are two versions."""


def keep_elements(
    module: Module, function: Function, arrays: tuple[ArrayParameters, ...], headers: Collection[BasicBlock]
) -> list[BasicBlock]:
    """Keep such elements of innermost loops, by their headers; the headers of those where that was done."""
    done: list[BasicBlock] = []
    for header in headers:
        scope = Scope(Program(module, arrays=arrays), function)
        loop = next((c for c in scope.loops.values() if c.header is header), None)
        if loop is None or loop.parent is None:
            continue
        accesses = Accesses(Reconstruction(scope.program))
        kept = [p for p in find_promotions(accesses, loop.parent, assuming=True) if p.loop is loop]
        found = _tested(accesses, loop, kept) if kept else None
        if found is not None:
            with_promotions(function, accesses, *found, kept, set())
            done.append(header)
    return done


def _tested(
    accesses: Accesses, loop: LoopContext, kept: list[Promotion]
) -> tuple[LoopContext, RunTimeTests] | None:
    """The outermost loop before which it can be asked whether elements are apart, and what is asked.

    Where an element might not be stored to without the loop, it is asked before that whether its body runs.
    """
    apart = DependenceTest(accesses, loop, order=Anyhow()).run(frozenset())
    if apart.opaque or not apart.is_complete:
        return None
    # These name the objects that must not overlap, too.
    assumptions = dict.fromkeys(apart.assumptions)
    if not all(p.is_touched for p in kept):
        tests = run_time_tests(accesses, loop, assumptions, parameters_of(accesses, loop, frozenset()))
        if isinstance(tests, str) or not test_that_body_runs(tests, accesses, loop, loop):
            return None
        return loop, tests
    found: tuple[LoopContext, RunTimeTests] | None = None
    around = loop.parent
    while around is not None:
        tests = run_time_tests(accesses, around, assumptions, parameters_of(accesses, around, frozenset()))
        if not isinstance(tests, str) and (tests.is_empty or _size(around) <= MOST_COPIED):
            found = around, tests
        around = around.parent
    return found


def _size(loop: LoopContext) -> int:
    return sum(len(b.instructions) for b in loop.blocks)
