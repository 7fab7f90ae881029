r"""The divergent loop transform (Moll, §9.1): divergent loops become uniform ones.

Precondition: loop-simplified form (preheader, single latch, dedicated exits) and loop-closed SSA; `divergence`
holds for the function. Postcondition: threads that enter a loop together leave it together, by one exit. A
thread that would have left stays, passively, until no thread is live::

        P                    P                    N      live = φ [mask at P, P] [live', L] shadow(false)
        |                    |                           track = φ [poison, P] [track', L]
     +->H                +-->N----+                      br any(live), H, D          (total, uniform)
     | / \               |   H    |               H...B  predicate live; values as before
     | B  X       ==>    |  / \   |               E      where the exit was taken
     | |                 | B   E  |               L      live' = select live, (came from B), false
     +-+                 |  \ /   |                      track' = select live, (value at E), track
                         +---L    D               D      sends each thread to its exit
                                  X

A loop that is left at its header alone, and after few iterations (`Instruction.chance`), asks there, when it is known
who stays, so that no iteration runs its body for nobody; nor does it need E and a new latch::

        P                    P                    N      live = φ [mask at P, P] [stay, B]  shadow(false)
        |                    |                           track = φ [poison, P] [track', B]
     +->H                 +->N                    H      predicate live; values as before, and
     | / \               |  |                           stay = select live, (goes on), false
     | B  X       ==>     |  H---+                       track' = select live, (value at H), track
     | |                  |  |   |                       br any(stay), B, D           (total, uniform)
     +-+                  +--B   D                B      predicate stay
                                 X                D      sends each thread to its exit

Both differ from Moll's Fig. 9.2 in one point: the body is not entered through a divergent branch on ``live`` but
by a uniform one, under ``live`` as block predicate. So an exit that all live threads take together (its branch is
uniform and no divergent branch of the loop decides whether it is reached) can stay a real exit; linearization
would otherwise fold it into the latch, which a divergent guard defers. Values that all live threads update alike,
such as counters, have one meaningful value on each path into the latch and stay uniform (Karrenberg and Hack,
"Optimizing Loop Induction Variables"); only the copy that leaves the loop is blended.

A uniform loop that may be reached without any live thread is guarded by ``any`` of the mask.

Precondition semantics FR; the result means the same under FR and OBL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from weft.graph.cfg import CFG
from weft.graph.control_dependence import ControlDependence, control_dependence
from weft.graph.loops import Loop, LoopForest, loop_forest
from weft.ir import BasicBlock, Builder, Function, Module, Poison, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.intrinsics import declare
from weft.transform.loops.loop_rebounding import LoopRebounding
from weft.transform.loops.loop_shape import LoopShape, LoopSummary, preheader_of


class BranchDivergence(Protocol):
    """What the transform asks of the divergence analysis."""

    def is_divergent_branch(self, block: BasicBlock) -> bool:
        """Whether threads may leave `block` by different edges."""
        ...


def uniform_branches(function: Function, divergence: BranchDivergence) -> frozenset[BasicBlock]:
    """The blocks of `function` whose branches are uniform.

    A branch that stays is as uniform after a pass as it was before, but a later analysis need not see it: what a
    value's range has shown may be lost where the value is blended.
    """
    return frozenset(b for b in function.blocks if not divergence.is_divergent_branch(b))


def make_loops_uniform(
    module: Module,
    function: Function,
    divergence: BranchDivergence,
    is_varying: Callable[[Value], bool] = lambda value: False,
) -> list[LoopSummary]:
    """Transform every divergent loop of `function`, innermost first, and guard uniform ones where needed.

    A header's φ of which `is_varying` says that it is a vector anyway may keep the value that leaves the loop.
    """
    view = cfg_of(function)
    forest = loop_forest(view.cfg)
    if not forest.loops:
        return []
    divergent = {i for i, b in enumerate(view.blocks) if divergence.is_divergent_branch(b)}
    if not divergent:
        return [LoopSummary(view.blocks[loop.header], divergent=False) for loop in forest.loops]
    shapes = _classify(view.cfg, view.blocks, forest, divergent)
    summaries: list[LoopSummary] = []
    for shape in reversed(shapes):
        summary = LoopSummary(shape.header, bool(shape.divergent_exits))
        if shape.divergent_exits:
            LoopRebounding(module, function, shape, summary, is_varying).run()
        elif shape.may_be_empty:
            _guard(module, function, shape)
            summary.guarded = True
        summaries.append(summary)
    return summaries


def _classify(
    cfg: CFG, blocks: Sequence[BasicBlock], forest: LoopForest, divergent: set[int]
) -> list[LoopShape]:
    """Loops, outer before inner, with their exits sorted into those all live threads take together and others."""
    shapes: dict[Loop | None, LoopShape] = {}
    deciders: dict[Loop | None, _Deciders] = {None: _Deciders(cfg, None)}
    for loop in sorted(forest.loops, key=lambda entry: entry.depth):
        shape = LoopShape(blocks[loop.header], {blocks[b] for b in loop.blocks}, shapes.get(loop.parent))
        inside = deciders[loop] = _Deciders(cfg, loop)
        for source, target in loop.exit_edges:
            together = source not in divergent and not inside.of(source) & divergent
            (shape.uniform_exits if together else shape.divergent_exits).append(
                (blocks[source], blocks[target])
            )
        shape.may_be_empty = bool((deciders[loop.parent].of(loop.header) - loop.blocks) & divergent)
        shapes[loop] = shape
    return list(shapes.values())


class _Deciders:
    """Which branches decide whether a block is reached in one iteration of a loop (or one run of the function).

    Control dependence on the loop's body alone: what an earlier iteration decided does not count.
    """

    __slots__ = ("_dependence", "_numbers", "_order")

    def __init__(self, cfg: CFG, loop: Loop | None) -> None:
        if loop is None:
            self._order = list(range(len(cfg)))
        else:
            self._order = [loop.header, *(b for b in sorted(loop.blocks) if b != loop.header)]
        self._numbers = {b: i for i, b in enumerate(self._order)}
        outside = len(self._order)
        succs: list[list[int]] = []
        for block in self._order:
            ends = [t for t in cfg.succs[block] if loop is None or t != loop.header]
            succs.append([self._numbers.get(t, outside) for t in ends])
        succs.append([])
        self._dependence: ControlDependence = control_dependence(CFG(succs))

    def of(self, block: int) -> set[int]:
        """The blocks whose branches decide, directly or in turn, whether `block` is reached."""
        found: set[int] = set()
        work = [self._numbers[block]]
        while work:
            for branch in self._dependence.on[work.pop()]:
                if branch not in found:
                    found.add(branch)
                    work.append(branch)
        return {self._order[i] for i in found}


def _guard(module: Module, function: Function, loop: LoopShape) -> None:
    """Skip a uniform loop when no thread is live; the threads that would run it never skip it."""
    preheader = preheader_of(loop)
    outer = loop.parent
    # An exit that stays in the loop around, of which there is one: the skipped loop is part of its iterations.
    targets = [t for _, t in loop.uniform_exits if outer is None or t in outer.blocks]
    if not targets:
        return
    target = targets[0]
    skip = function.add_block(f"{loop.header.name}.skip", after=preheader)
    for around in loop.ancestors():
        around.blocks.add(skip)
    builder = Builder(before=preheader.terminator)
    builder.total = True
    mask = builder.call(declare(module, "weft.mask"), ())
    mask.total = False
    some = builder.call(declare(module, "weft.any"), (mask,))
    preheader.terminator.erase()
    Builder(preheader).cond_br(some, loop.header, skip)
    Builder(skip).br(target)
    for phi in target.phis():
        phi.add_incoming(Poison(phi.type), skip)
