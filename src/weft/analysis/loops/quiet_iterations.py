"""Loops most of whose iterations change nothing: searches, and minima and maxima with the place where they are.

    for i: if x[i] == v: break                for i: if x[i] < best: best = x[i]; place = i

An iteration is *quiet* if it does not leave the loop early and leaves what iterations hand on as it is. Whether it is
follows from its own loads and from what it gets. So a whole range of iterations is quiet if each of them is with what
the first one gets: that can be asked of all of them at the same time, in any order. The first one that is not stops
the question; from the beginning of the range on the loop then runs as it was written. This keeps results to the last
bit, whatever is compared: floats with NaN and -0.0, ties.

What is asked of iterations behind the first that is not quiet, the loop itself might never have asked. Such loads have
to be of memory that is known to be there, and nothing else may trap (`Question.unproved`).

Precondition: canonical P-LLVM. The number of iterations is known when the loop begins, early exits aside.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_exit, counters_of
from weft.analysis.loops.deciding import Deciders
from weft.graph.dominators import DominatorTree
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import is_speculatable, may_read, may_write

_ORDERED = ("lt", "le", "gt", "ge")
_EXTREMA = {"llvm.smin": "slt", "llvm.smax": "sgt", "llvm.umin": "ult", "llvm.umax": "ugt"}
_MOST_CONDITIONS = 6


class Question(Struct, frozen=True):
    """A loop of which it can be asked whether iterations are quiet.

    Parameters
    ----------
    loop
        How it counts, and the exit behind its last iteration.
    states
        The φs of its header that quiet iterations leave as they are.
    last
        The φs of its header that nobody in the loop reads: what an iteration sets follows from counters.
    early
        The edges by which it is left before.
    unsure
        What may have values that the program never sees, in iterations that do not run.
    unproved
        Loads that iterations which do not run would make.
    """

    loop: CountedLoop
    states: tuple[Instruction, ...]
    last: tuple[Instruction, ...]
    early: tuple[tuple[BasicBlock, BasicBlock], ...]
    unsure: frozenset[Instruction]
    unproved: tuple[Instruction, ...]


def quiet_iterations(view: CFGView, dominators: DominatorTree, loop: Loop) -> Question | str:
    """The question that a loop allows, or why it allows none, in words that follow "because"."""
    counted = counted_exit(view, loop)
    if isinstance(counted, str):
        return f"it {counted}"
    inside = set(counted.blocks)
    counters = {c.phi for c in counters_of(counted.header, counted.preheader, counted.latch)}
    others = [phi for phi in counted.header.phis() if phi not in counters]
    last = tuple(phi for phi in others if _is_last_value(phi, counted, counters))
    states = tuple(phi for phi in others if phi not in last)
    early = tuple(
        (view.blocks[e], view.blocks[x])
        for e, x in loop.exit_edges
        if (view.blocks[e], view.blocks[x]) != (counted.exiting, counted.exit)
    )
    for block in counted.blocks:
        for instruction in block.instructions:
            if may_write(instruction) or (instruction.op != "load" and may_read(instruction)):
                return "it does more than to load and to compare"
    if not _can_be_quiet(counted, states, {x for _, x in early}):
        return "its iterations always hand on something new"
    if not early and not any(_is_compared(state, inside) for state in states):
        return "what its iterations hand on is not a minimum or maximum"
    asked = _asked(counted, states)
    loads = [i for i in asked if i.op == "load"]
    by_state = depending_on(states, counted)
    unsure = _unsure(counted, early != (), depending_on([*loads, *states], counted), loads)
    unproved: dict[Instruction, None] = {}
    latch = view.index[counted.latch]
    for block in counted.blocks:
        certain = dominators.dominates(view.index[block], latch) or not _is_decided_by(
            block, by_state, counted, inside
        )
        for instruction in block.instructions:
            if instruction.is_phi or instruction not in asked:
                continue
            if not early and certain and not any(v in by_state for v in instruction.operands):
                continue
            if instruction.op == "load":
                unproved[instruction] = None
            elif not is_speculatable(instruction):
                return "it divides by, or calls, what may not be tried before it is known that the iteration runs"
    return Question(counted, states, last, early, unsure, tuple(unproved))


def _is_last_value(phi: Instruction, loop: CountedLoop, counters: Collection[Instruction]) -> bool:
    """Whether a φ is not read in the loop, and what it takes is computed from counters."""
    inside = set(loop.blocks)
    if any(user.block in inside for user in phi.instruction_users()):
        return False
    return all(
        v in counters or is_speculatable(v)
        for v in computed_from(phi.incoming_value(loop.latch), counters, inside)
    )


def computed_from(
    value: Value, known: Collection[Instruction], inside: Collection[BasicBlock]
) -> list[Instruction]:
    """What a value of a loop is computed from as far as it is not known, each behind what it uses."""
    found: dict[Instruction, None] = {}

    def visit(value: Value) -> None:
        if isinstance(value, Instruction) and value.block in inside and value not in found:
            if value not in known and not value.is_phi:
                for operand in value.operands:
                    visit(operand)
            found[value] = None

    visit(value)
    return list(found)


def _can_be_quiet(loop: CountedLoop, states: Collection[Instruction], out: Collection[BasicBlock]) -> bool:
    """Whether some outcome of the conditions leaves all states as they are."""
    inside = set(loop.blocks)
    conditions: dict[Value, None] = {}
    for block in loop.blocks:
        for instruction in block.instructions:
            if instruction.op == "select" or (instruction.op == "br" and instruction.operands):
                conditions[instruction.operands[0]] = None
    conditions.pop(loop.header.terminator.operands[0], None)
    if len(conditions) > _MOST_CONDITIONS:
        return False
    for outcome in product((False, True), repeat=len(conditions)):
        if _is_quiet(loop, states, out, inside, dict(zip(conditions, outcome, strict=True))):
            return True
    return False


def _is_quiet(
    loop: CountedLoop,
    states: Collection[Instruction],
    out: Collection[BasicBlock],
    inside: Collection[BasicBlock],
    holds: Mapping[Value, bool],
) -> bool:
    """Whether an iteration in which conditions have an outcome leaves all states as they are."""
    came_from: dict[BasicBlock, BasicBlock] = {}
    block = loop.header
    while block is not loop.latch:
        branch = block.terminator
        if block is loop.header:
            following = next(b for b in branch.blocks if b is not loop.exit)
        elif branch.op != "br":
            return False
        else:
            following = branch.blocks[0 if not branch.operands or holds[branch.operands[0]] else 1]
        if following in out or following not in inside or following in came_from:
            return False
        came_from[following] = block
        block = following

    def taken(value: Value, state: Instruction) -> Value:
        while isinstance(value, Instruction) and value.block in inside:
            if value.op == "select":
                value = value.operands[1 if holds[value.operands[0]] else 2]
            elif value.is_phi and value.block in came_from:
                value = value.incoming_value(came_from[value.block])
            else:
                return state if replaced_if(value, state) else value
        return value

    return all(taken(state.incoming_value(loop.latch), state) is state for state in states)


def _asked(loop: CountedLoop, states: Collection[Instruction]) -> dict[Instruction, None]:
    """What has to be computed to know whether an iteration is quiet: not what it would hand on."""
    inside = set(loop.blocks)
    work = [v for block in loop.blocks for v in block.terminator.operands]
    updates = [state.incoming_value(loop.latch) for state in states]
    seen: set[Value] = set()
    while updates:
        value = updates.pop()
        if not isinstance(value, Instruction) or value.block not in inside or value in seen:
            continue
        seen.add(value)
        if value.op == "select":
            work.append(value.operands[0])
            updates += value.operands[1:]
        elif value.is_phi:
            updates += value.operands
        elif any(replaced_if(value, state) for state in states):
            work += value.args
    found: dict[Instruction, None] = {}
    while work:
        value = work.pop()
        if isinstance(value, Instruction) and value.block in inside and value not in found:
            found[value] = None
            work += value.operands
    return found


def _unsure(
    loop: CountedLoop, early: bool, dependent: set[Instruction], loads: Collection[Instruction]
) -> frozenset[Instruction]:
    """What is computed from loads and states; of a loop that may be left early all but addresses and counters."""
    if not early:
        return frozenset(dependent)
    inside = set(loop.blocks)
    kept = {i for c in counters_of(loop.header, loop.preheader, loop.latch) for i in (c.phi, c.following)}
    work = [load.pointer for load in loads]
    while work:
        value = work.pop()
        if isinstance(value, Instruction) and value.block in inside and value not in kept:
            kept.add(value)
            work += value.operands
    every = {i for block in loop.blocks for i in block.instructions if not i.is_terminator}
    return frozenset((every - kept) | dependent)


def _is_compared(state: Instruction, inside: Collection[BasicBlock]) -> bool:
    """Whether it is compared with something, by order: it is replaced by ever smaller or greater ones."""
    return any(
        u.block in inside
        and ((u.op in ("icmp", "fcmp") and u.predicate[1:] in _ORDERED) or replaced_if(u, state) is not None)
        for u in state.instruction_users()
    )


def replaced_if(value: Instruction, state: Instruction) -> tuple[str, Value] | None:
    """Of the smaller or greater of two integers, one of them a state: when the other one takes its place."""
    predicate = _EXTREMA.get((value.callee_name or "").rpartition(".")[0])
    if predicate is None or state not in value.args:
        return None
    return predicate, value.args[1 if value.args[0] is state else 0]


def depending_on(sources: Collection[Instruction], loop: CountedLoop) -> set[Instruction]:
    """What is computed in a loop from some of its values, φs that such values decide included."""
    found, inside, deciders = set(sources), set(loop.blocks), Deciders(loop.blocks, loop.header)
    changed = True
    while changed:
        changed = False
        for block in inside:
            for instruction in block.instructions:
                if instruction in found or instruction.is_terminator:
                    continue
                if any(v in found for v in instruction.operands) or (
                    instruction.is_phi
                    and any(v in found for t in deciders.of(instruction) for v in t.operands)
                ):
                    found.add(instruction)
                    changed = True
    return found


def _is_decided_by(
    block: BasicBlock, values: Collection[Value], loop: CountedLoop, inside: Collection[BasicBlock]
) -> bool:
    """Whether a branch on one of some values may lead to a block in the same iteration, or around it."""
    seen: set[BasicBlock] = {block}
    work = [block]
    while work:
        found = work.pop()
        if found is loop.header:
            continue
        for before in found.predecessors:
            if before not in inside or before in seen:
                continue
            if any(v in values for v in before.terminator.operands):
                return True
            seen.add(before)
            work.append(before)
    return False
