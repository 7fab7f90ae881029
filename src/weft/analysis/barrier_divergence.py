"""Barriers that not all threads of a work-group may reach together.

A barrier waits for the threads of the group that have not returned. It is *possibly divergent* if, after a branch at
which threads of the group part, some of them may run it while others wait elsewhere (`SyncResult.apart`). Threads on
the way to a return do not wait, be it out of a loop that others still run.

It is *certainly divergent* if a branch that every thread executes sends the thread with index zero one way and all
others along a dimension the other way, and the two ways begin with different barriers whatever happens on them. Then
every launch whose groups have more than one thread along that dimension goes wrong.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.control_divergence import ControlDivergence
from weft.analysis.divergence import Divergence
from weft.analysis.divergence.calls import is_barrier
from weft.analysis.shapes import ACTIVE
from weft.graph.dominators import post_dominator_tree
from weft.ir import BasicBlock, Function, Instruction
from weft.ir.cfg_view import cfg_of


class DivergentBarrier(Struct, frozen=True):
    """A barrier that threads may reach apart.

    Parameters
    ----------
    barrier
        The call.
    branch
        The block with the branch at which threads part.
    certain
        Whether they do in every group of more than one thread.
    """

    barrier: Instruction
    branch: BasicBlock
    certain: bool


def divergent_barriers(group: Divergence) -> tuple[DivergentBarrier, ...]:
    """The barriers of a function that threads of a work-group may reach apart, in the order of the program.

    Parameters
    ----------
    group
        The analysis of the function for the threads of a work-group.
    """
    function = group.function
    barriers = [i for i in function.instructions() if is_barrier(i)]
    if not barriers or not group.divergent_branches:
        return ()
    graph = _Graph(function)
    found: list[DivergentBarrier] = []
    for barrier in barriers:
        assert barrier.block is not None
        reasons = [
            branch
            for branch in group.divergent_branches
            if graph.number[barrier.block] in graph.control.joins(graph.number[branch]).apart
        ]
        if reasons:
            surely = [branch for branch in reasons if _is_certain(group, graph, branch, barrier)]
            found.append(DivergentBarrier(barrier, (surely or reasons)[0], bool(surely)))
    return tuple(found)


def passes_barriers_in_step(group: Divergence) -> bool:
    """Whether all threads of a work-group come to the same barriers in the same order, and then all return.

    So it is if no branch at which they part has a say in which barrier is next.
    """
    graph = _Graph(group.function)

    def next_barriers(branch: BasicBlock) -> set[Instruction | None]:
        targets = graph.cfg.succs[graph.number[branch]]
        return set().union(*(graph.first_barriers(target) for target in targets))

    return all(len(next_barriers(branch)) == 1 for branch in group.divergent_branches)


class _Graph:
    """The control flow of a function, with threads that are about to return left out of account."""

    __slots__ = ("blocks", "cfg", "control", "number")

    def __init__(self, function: Function) -> None:
        view = cfg_of(function)
        self.blocks = view.blocks
        self.number = view.index
        self.cfg = view.cfg
        returning = {number for number, block in enumerate(view.blocks) if _only_returns(block)}
        self.control = ControlDivergence(view.cfg, returning=returning)

    def first_barriers(self, start: int) -> set[Instruction | None]:
        """The barriers that can be the next one from the begin of a block on; None: the thread may return."""
        found: set[Instruction | None] = set()
        seen = {start}
        work = [start]
        while work:
            number = work.pop()
            barrier = next((i for i in self.blocks[number].instructions if is_barrier(i)), None)
            if barrier is not None:
                found.add(barrier)
                continue
            if not self.cfg.succs[number]:
                found.add(None)
            for target in self.cfg.succs[number]:
                if target not in seen:
                    seen.add(target)
                    work.append(target)
        return found


def _only_returns(block: BasicBlock, depth: int = 8) -> bool:
    """Whether a thread that has come here does nothing more but return."""
    if any(i.op not in ("phi", "br", "ret") for i in block.instructions):
        return False
    if block.terminator.op == "ret":
        return True
    return depth > 0 and len(block.successors) == 1 and _only_returns(block.successors[0], depth - 1)


def _is_certain(group: Divergence, graph: _Graph, branch: BasicBlock, barrier: Instruction) -> bool:
    number = graph.number[branch]
    if group.has_varying_control(branch) or not _is_always_run(graph, number):
        return False
    if len(graph.cfg.succs[number]) != 2 or not _parts_first_thread(group, branch.terminator):
        return False
    ways = [graph.first_barriers(target) for target in graph.cfg.succs[number]]
    one, other = ways if ways[0] == {barrier} else reversed(ways)
    return one == {barrier} and barrier not in other and None not in other


def _is_always_run(graph: _Graph, number: int) -> bool:
    return number == 0 or post_dominator_tree(graph.cfg).dominates(number, 0)


def _parts_first_thread(group: Divergence, branch: Instruction) -> bool:
    """Whether the condition compares for equality something strided in the ids with its value in the first thread."""
    condition = branch.operands[0]
    if not isinstance(condition, Instruction) or condition.op != "icmp":
        return False
    if condition.predicate not in ("eq", "ne"):
        return False
    bits = group.engine.bits(condition.operands[0])
    one, other = (group.shape(operand) for operand in condition.operands)
    ids, constant = (other, one) if one.is_uniform else (one, other)
    return (
        not ids.is_uniform
        and ids.is_strided
        and max(ids.nsw, ids.nuw) >= ACTIVE
        and ids.known_bits == bits
        and constant.constant(bits) == ids.residue
    )
