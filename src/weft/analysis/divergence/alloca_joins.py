"""Where divergent control makes stack objects varying (Moll, §6.6.1; `stack_objects` has the rules)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.analysis.masks import implies, kept_by, only_loses_threads
from weft.analysis.memory.stack_objects import Site
from weft.graph.loops import Loop
from weft.ir import Instruction

if TYPE_CHECKING:
    from weft.analysis.divergence.engine import Engine


def differs_after_divergence(engine: Engine, site: Site, joins: set[int]) -> bool:
    """Whether threads may have different contents in an object after the divergence known so far.

    `joins` are the blocks in which threads may come together from predecessors that they could not before.
    """
    control, objects = engine.control, engine.objects
    changing = objects.defining_blocks(site)
    for (_, target), leaving in control.exits.items():
        changes = any(not changing.isdisjoint(loop.blocks) for loop in leaving.values())
        if changes and objects.may_be_read_in_or_after(site, target):
            return True
    preds = control.view.cfg.preds
    for block in joins:
        arriving = {p: objects.state_behind(site, p) for p in preds[block]}
        for branch in control.parting_branches(block, arriving):
            if objects.may_be_read_in_or_after(site, block) or _accessed_on_two_sides(engine, site, branch):
                return True
    if engine.returns > 1:
        # Threads that return apart meet nowhere: no join tells that they changed the object apart.
        return any(_accessed_on_two_sides(engine, site, branch) for branch in control.divergent)
    return False


def _accessed_on_two_sides(engine: Engine, site: Site, branch: int) -> bool:
    """Whether threads that a branch parts may access the object on more than one of their ways."""
    control = engine.control
    apart = control.propagation.joins(branch).activation_dependent
    accessing = engine.objects.accessing_blocks(site) & apart
    if not accessing:
        return False
    sides = 0
    for successor in control.view.cfg.distinct_succs(branch):
        if successor in apart and not accessing.isdisjoint(_region(engine, successor, apart)):
            sides += 1
    return sides > 1


def _region(engine: Engine, start: int, apart: frozenset[int]) -> set[int]:
    """The blocks that threads may come through from `start` while others are elsewhere."""
    succs = engine.control.view.cfg.succs
    region = {start}
    work = [start]
    while work:
        for target in succs[work.pop()]:
            if target in apart and target not in region:
                region.add(target)
                work.append(target)
    return region


def is_masked_away(engine: Engine, write: Instruction, site: Site) -> bool:
    """Whether some threads that may read the object later do not take part in a write to it.

    A block predicate keeps threads away. It does no harm if each read of the object is under a predicate that
    implies it, at the read and in all iterations in between; or if the read is of a later iteration, and of threads
    that the loop kept when it began that: those of the iteration before that the write was for (Moll, Fig. 13.2).
    """
    assert write.block is not None
    blocks = engine.blocks
    number = blocks[write.block]
    if write.guard is not None and engine.dims(write.guard, write):
        return True
    if write.total or not engine.control.predicated[number]:
        return False
    mask = write.block.predicate
    assert mask is not None
    loops = engine.control.propagation.loops
    for read in engine.objects.readers(site):
        assert read.block is not None
        if read.total:
            return True
        predicate = read.block.predicate
        narrower = implies(predicate, mask)
        loop = loops.common(loops.innermost[number], loops.innermost[blocks[read.block]])
        if loop is not None and not (narrower and only_loses_threads(mask, loop, blocks)):
            narrower = narrower or _is_of_later_iteration(engine, loop, write, read)
            narrower = narrower and kept_by(loop, predicate, mask, blocks, loops.innermost)
        if not narrower:
            return True
        around = None if loop is None else loop.parent
        while around is not None:
            if not only_loses_threads(mask, around, blocks):
                return True
            around = around.parent
    return False


def _is_of_later_iteration(engine: Engine, loop: Loop, write: Instruction, read: Instruction) -> bool:
    """Whether a read in a loop sees what a write in it wrote in later iterations only."""
    assert write.block is not None and read.block is not None
    if write.block is read.block:
        return write.block.instructions.index(read) < write.block.instructions.index(write)
    source, target = engine.blocks[write.block], engine.blocks[read.block]
    succs = engine.control.view.cfg.succs
    seen = {source}
    work = [source]
    while work:
        for block in succs[work.pop()]:
            if block == target:
                return target == loop.header
            if block not in seen and block in loop.blocks and block != loop.header:
                seen.add(block)
                work.append(block)
    return True
