"""Plain loops that LLVM's vectorizer leaves in order, and that lanes can run: in their place, on the thread that calls.

Nobody promises anything of a loop over `range`. Where LLVM's vectorizer has no good code for what stands in it
(`weft.analysis.loops.left_scalar`), it is looked at as those of ``parallel="auto"`` are: if its iterations are proved
to be independent, but for what they combine in any order, lanes run it, behind tests of what the proof rests on. Where
a test fails it runs as it was. Of a nest the outermost such loop is taken; which of its loops lanes run along is chosen
later. Loops around promised ones, and in them, are left to these; so are functions that are called still, as they are
recursive: lanes may call them.

Precondition: P-LLVM with marks on promised loops. Postcondition: the same, loop-closed; the loops are marked as proved,
and to run in place. Preserves the program under FR: float sums keep their order unless they may be reassociated, and
mathematics is taken from vector libraries where it may be approximate only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.loops.along_rows import is_short
from weft.analysis.loops.left_scalar import FEWEST, left_scalar
from weft.analysis.loops.loop_promises import loop_promises
from weft.analysis.memory.alias import locate
from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.scope import LoopContext, Program, Scope
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Function, Instruction
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.heap import heap_call
from weft.ir.layout import DataLayout
from weft.machine.vecmath import math_function
from weft.passes.declared import Pass
from weft.passes.loop_unit import LoopUnit
from weft.passes.mark_chosen import apply_chosen
from weft.passes.nests.chosen_loops import Chosen, Search
from weft.transform.loops.close_loops import close_loops, open_needless
from weft.transform.loops.signed_tests import sign_tests

_APPROXIMATE = frozenset(("fast", "afn"))


def find_plain_loops(unit: LoopUnit, function: Function) -> int:
    """Mark the plain loops of a function that lanes run better than LLVM's vectorizer, behind tests; how many nests."""
    wanted = _wanted(unit, function)
    if not wanted:
        return 0
    sign_tests(function)
    close_loops(function)
    open_needless(function)
    arrays = unit.arrays if function is unit.function else ()
    program = Program(unit.module, arrays=arrays)
    scope = Scope(program, function)
    accesses = Accesses(Reconstruction(program))
    search = Search(unit, accesses, scope, False, frozenset())
    tops = [c for c in scope.loops.values() if c.parent is None]
    found = [chosen for loop in tops for chosen in _in_nest(search, loop, wanted)]
    for chosen in found:
        runs_once = chosen.tests.is_empty and chosen.loop.parent is None
        fewest = 0 if runs_once else wanted.get(chosen.loop.header, FEWEST)
        apply_chosen(unit, function, scope, accesses, chosen, (), in_place=True, fewest=fewest)
    return len(found)


def _in_nest(search: Search, loop: LoopContext, wanted: Mapping[BasicBlock, int]) -> Iterator[Chosen]:
    """The outermost loops around wanted ones that can run in parallel."""
    view = search.scope.view
    blocks = {view.blocks[b] for b in loop.loop.blocks}
    if blocks.isdisjoint(wanted):
        return
    if not loop.loop.children and is_short(loop.loop, view, ranges_of(search.scope.function, view)):
        return
    if not _holds_others(loop.loop, view):
        chosen = search.whole_nest(loop)
        if chosen is not None:
            if _has_objects(loop.loop, view, search.unit.module.layout):
                # Each lane has its own, of which loops inside fill one.
                chosen = replace(chosen, inside=(), promotions=(), tiles=None)
            yield chosen
            return
    for other in search.scope.loops.values():
        if other.parent is loop:
            yield from _in_nest(search, other, wanted)


def _holds_others(loop: Loop, view: CFGView) -> bool:
    """Whether something in a loop belongs to others: promised loops, arrays that are made, inexact mathematics."""
    if any(_is_promised(each, view) for each in loop_forest(view.cfg).loops if loop.contains(each)):
        return True
    return any(
        heap_call(i) is not None or _is_exact_mathematics(i)
        for b in loop.blocks
        for i in view.blocks[b].instructions
    )


def _has_objects(loop: Loop, view: CFGView, layout: DataLayout) -> bool:
    """Whether the iterations of a loop have objects on the stack."""
    accesses = (i for b in loop.blocks for i in view.blocks[b].instructions if i.op in ("load", "store"))
    bases = (locate(i.pointer, layout).base for i in accesses)
    return any(isinstance(base, Instruction) and base.op == "alloca" for base in bases)


def _is_exact_mathematics(i: Instruction) -> bool:
    """Whether a function of mathematics is called that is to give what the C library gives."""
    if i.op != "call" or not _APPROXIMATE.isdisjoint(i.flags):
        return False
    return math_function(i.callee_name or "") is not None


def _wanted(unit: LoopUnit, function: Function) -> dict[BasicBlock, int]:
    """The headers of plain loops that LLVM's vectorizer leaves in order, in no promised one, and how often they run."""
    view = cfg_of(function)
    left = left_scalar(view, unit.module.layout, unit.isa)
    return {
        view.blocks[loop.header]: left[loop.header]
        for loop in loop_forest(view.cfg).loops
        if loop.header in left and not any(_is_promised(each, view) for each in loop.ancestors())
    }


def _is_promised(loop: Loop, view: CFGView) -> bool:
    blocks = tuple(view.blocks[b] for b in loop.blocks)
    told = loop_promises(view.blocks[loop.latches[0]], blocks)
    return told.parallel or bool(told.in_step)


def _mark_plain_loops(unit: LoopUnit) -> bool:
    return find_plain_loops(unit, unit.function) > 0


PLAIN_LOOPS: Pass[LoopUnit] = Pass(
    "plain loops",
    "loops over range that LLVM would leave in order are marked, where they are found parallel, to run in place",
    _mark_plain_loops,
    optional=True,
    applies=lambda unit: not unit.plain_loops and unit.width != 1,
)
